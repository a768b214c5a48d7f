"""Everything of a learner that decides its next number, as tensors by name, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from gymposium.errors import GymposiumError
from gymposium_train.learner.reference import Reference
from gymposium_train.learner.stepping import Stepper
from gymposium_train.parallel.parts import broadcast_tensor, gather_tensor
from gymposium_train.parallel.world import Processes


def gather(
    stepper: Stepper, reference: Reference | None, counts: Mapping[str, int], world: Processes
) -> Iterator[tuple[str, Tensor]]:
    """The weights that are learned, their optimizer's slots, the reference and some counts, one by one. Names are
    `kind|name` and, of the optimizer, `optimizer|parameter|slot`. What the processes have in parts is whole in it, so
    that any number of processes can go on from there; only the first process gets it, and all run through it."""
    found = {f"weights|{name}": p.detach() for name, p in stepper.named.items()}
    for name, parameter in stepper.named.items():
        for slot, value in stepper.optimizer.state[parameter].items():
            found[f"optimizer|{name}|{slot}"] = value
    if reference is not None:
        found |= {f"reference|{name}": value for name, value in reference.weights.items()}
    found |= {f"counts|{name}": torch.tensor(count) for name, count in counts.items()}
    for name, tensor in found.items():
        whole = gather_tensor(tensor, world)
        if whole is not None:
            yield name, whole


@torch.no_grad()
def put_back(
    tensors: Mapping[str, Tensor] | None, stepper: Stepper, reference: Reference | None, world: Processes
) -> dict[str, int]:
    """Put what `gather` gave in its place, one by one; returns the counts. The first process has the tensors.

    Raises `GymposiumError` where they are another learner's."""
    kinds: dict[str, list[str]] = {"weights": [], "optimizer": [], "reference": [], "counts": []}
    for key in world.broadcast([] if tensors is None else [*tensors]):
        kind, _, name = key.partition("|")
        kinds[kind].append(name)
    strange = sorted({*kinds["weights"]} ^ stepper.named.keys())[:3]
    if not strange and {*kinds["reference"]} != ({*reference.weights} if reference is not None else set()):
        strange = ["a reference policy"]
    if strange:
        raise GymposiumError(
            f"The checkpoint is another learner's: only one of them has {', '.join(strange)}. Resume with the settings "
            f"that the run began with."
        )

    def part(key: str, like: Tensor) -> Tensor:
        return broadcast_tensor(None if tensors is None else tensors[key], like, world)

    for name in kinds["weights"]:
        stepper.named[name].copy_(part(f"weights|{name}", stepper.named[name]))
    for key in kinds["optimizer"]:
        name, _, slot = key.rpartition("|")
        parameter = stepper.named[name]
        like = torch.tensor(0.0) if slot == "step" else parameter
        stepper.optimizer.state[parameter][slot] = part(f"optimizer|{key}", like).clone()
    if reference is not None:
        for name, weights in reference.weights.items():
            weights.copy_(part(f"reference|{name}", weights))
    return {name: int(part(f"counts|{name}", torch.tensor(0))) for name in kinds["counts"]}
