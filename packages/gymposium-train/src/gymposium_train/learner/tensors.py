"""A learner's state as named tensors, and its restoration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from gymposium.errors import GymposiumError
from gymposium_train.learner.parallel.parts import broadcast_tensor, gather_tensor
from gymposium_train.learner.parallel.world import Processes
from gymposium_train.learner.reference import Reference
from gymposium_train.learner.stepping import Stepper


def gather_state(
    stepper: Stepper,
    reference: Reference | None,
    counts: Mapping[str, int],
    world: Processes,
    *,
    weights_only: bool = False,
) -> Iterator[tuple[str, Tensor]]:
    """Yield the trained weights, the optimizer's slots, the reference and some counts, one by one. Names are
    `kind|name`, and `optimizer|parameter|slot` for the optimizer. With `weights_only`, leaves out the optimizer and the
    reference. Sharded tensors are gathered, so that any number of processes can resume from them. All processes must
    iterate, but only the first one gets tensors."""
    tensors = {f"weights|{name}": p.detach() for name, p in stepper.named.items()}
    for name, parameter in {} if weights_only else stepper.named.items():
        tensors |= {f"optimizer|{name}|{slot}": v for slot, v in stepper.optimizer.state[parameter].items()}
    if reference is not None and not weights_only:
        tensors |= {f"reference|{name}": weights for name, weights in reference.weights.items()}
    tensors |= {f"counts|{name}": torch.tensor(count) for name, count in counts.items()}
    for name, tensor in tensors.items():
        if (gathered := gather_tensor(tensor, world)) is not None:
            yield name, gathered


@torch.no_grad()
def restore_state(
    tensors: Mapping[str, Tensor] | None,
    stepper: Stepper,
    reference: Reference | None,
    world: Processes,
    *,
    weights_only: bool = False,
) -> dict[str, int]:
    """Restore the tensors from `gather_state` with the same `weights_only`, one by one, and return the counts. Only the
    first process has the tensors.

    Raises `GymposiumError` if the learner's settings differ, and `LookupError` or `ValueError` for an invalid name or
    count."""
    kinds: dict[str, list[str]] = {"weights": [], "optimizer": [], "reference": [], "counts": []}
    for key in world.broadcast([] if tensors is None else [*tensors]):
        kind, _, name = key.partition("|")
        kinds[kind].append(name)
    missing = sorted({*kinds["weights"]} ^ stepper.named.keys())[:3]
    reference = None if weights_only else reference
    if not missing and {*kinds["reference"]} != ({*reference.weights} if reference is not None else set()):
        missing = ["a reference policy"]
    if missing:
        raise GymposiumError(
            f"The checkpoint does not match this learner: only one of them has {', '.join(missing)}. Resume with the "
            f"run's original settings."
        )

    def read_part(key: str, like: Tensor) -> Tensor:
        whole = None if tensors is None else tensors[key]
        if whole is not None and (whole.shape, whole.is_floating_point()) != (like.shape, like.is_floating_point()):
            raise GymposiumError(
                f"The checkpoint does not match this learner: {key} is {whole.dtype} with shape {tuple(whole.shape)}, "
                f"not {like.dtype} with {tuple(like.shape)}. Resume with the run's original settings."
            )
        return broadcast_tensor(whole, like, world)

    for name in kinds["weights"]:
        stepper.named[name].copy_(read_part(f"weights|{name}", stepper.named[name]))
    for key in kinds["optimizer"]:
        name, _, slot = key.rpartition("|")
        parameter = stepper.named[name]
        like = torch.tensor(0.0) if slot == "step" else parameter
        stepper.optimizer.state[parameter][slot] = read_part(f"optimizer|{key}", like).clone()
    if reference is not None:
        for name, weights in reference.weights.items():
            weights.copy_(read_part(f"reference|{name}", weights))
    return {name: int(read_part(f"counts|{name}", torch.tensor(0))) for name in kinds["counts"]}
