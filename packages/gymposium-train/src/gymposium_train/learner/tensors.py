"""Everything of a learner that decides its next number, as tensors by name, and back."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from gymposium.errors import GymposiumError
from gymposium_train.learner.reference import Reference
from gymposium_train.learner.stepping import Stepper
from gymposium_train.parallel.parts import full, laid_out


def gather(stepper: Stepper, reference: Reference | None, counts: Mapping[str, int]) -> dict[str, Tensor]:
    """The weights that are learned, their optimizer's slots, the reference and some counts. Names are `kind|name` and,
    of the optimizer, `optimizer|parameter|slot`. What the processes have in parts is whole in it, so that any number of
    processes can go on from there."""
    found = {f"weights|{name}": p.detach() for name, p in stepper.named.items()}
    for name, parameter in stepper.named.items():
        for slot, value in stepper.optimizer.state[parameter].items():
            found[f"optimizer|{name}|{slot}"] = value.detach()
    if reference is not None:
        found |= {f"reference|{name}": value for name, value in reference.weights.items()}
    found |= {f"counts|{name}": torch.tensor(count) for name, count in counts.items()}
    return {name: full(tensor).cpu().contiguous() for name, tensor in found.items()}


@torch.no_grad()
def put_back(tensors: Mapping[str, Tensor], stepper: Stepper, reference: Reference | None) -> dict[str, int]:
    """Put what `gather` gave in its place; returns the counts.

    Raises `GymposiumError` where it is another learner's."""
    kinds: dict[str, dict[str, Tensor]] = {"weights": {}, "optimizer": {}, "reference": {}, "counts": {}}
    for key, value in tensors.items():
        kind, _, name = key.partition("|")
        kinds[kind][name] = value
    if kinds["weights"].keys() != stepper.named.keys() or bool(kinds["reference"]) != (reference is not None):
        strange = sorted(kinds["weights"].keys() ^ stepper.named.keys())[:3] or ["a reference policy"]
        raise GymposiumError(
            f"The checkpoint is another learner's: only one of them has {', '.join(strange)}. Resume with the settings "
            f"that the run began with."
        )
    for name, value in kinds["weights"].items():
        parameter = stepper.named[name]
        parameter.copy_(laid_out(value, parameter))
    for key, value in kinds["optimizer"].items():
        name, _, slot = key.rpartition("|")
        parameter = stepper.named[name]
        stepper.optimizer.state[parameter][slot] = (
            value.clone() if slot == "step" else laid_out(value, parameter).clone()
        )
    if reference is not None:
        reference.weights = {
            name: laid_out(value, reference.weights[name]).clone() for name, value in kinds["reference"].items()
        }
    return {name: int(value) for name, value in kinds["counts"].items()}
