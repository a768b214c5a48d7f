"""Checkpoints: directories from which a run resumes with the same numbers. Tensors are safetensors; nothing is pickled.

A checkpoint is a directory such as `step-00040`. The tensors of the learner (weights, optimizer, critic, reference) are
in `learner-00001.safetensors` and so on, written and read one by one. Everything else is in `state.json`: steps done,
state of the rollouts, moving means of the credit, CPU seconds, and the number of tensor files. A LoRA is also saved in
the form that PEFT and vLLM load. A checkpoint is written to a staging directory, synced and renamed; without its mark
`COMPLETE` it is reported and removed.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from gymposium.durable import remove_directory, sweep, whole_directory
from gymposium_agents.lora.saving import save_lora
from gymposium_train.directory import is_whole
from gymposium_train.learner import Learner

STATE = "state.json"
PART = 2**28
"""Maximum number of bytes of tensors in a file and, beside the learner, in memory; a single tensor may be larger."""


def save_checkpoint(
    directory: Path, learner: Learner, model: Any, state: Mapping[str, Any], *, keep: int, besides: Path | None = None
) -> Path:
    """Write the checkpoint of `state["step"]`, completely or not at all, and remove all but the newest `keep`
    checkpoints and `besides`. `model` is the learner's model as it is played; if it has a LoRA, that is saved too."""
    target = directory / f"step-{state['step']:05d}"
    sweep(directory, "step-")
    if target.exists():
        remove_directory(target)
    with whole_directory(target) as staging:
        if hasattr(model, "peft_config"):
            save_lora(model, staging)
        files = _write(learner.tensors(), staging)
        (staging / STATE).write_text(json.dumps({**state, "files": files}, indent=2) + "\n", encoding="utf-8")
    for old in complete_checkpoints(directory)[:-keep]:
        if old != besides:
            remove_directory(old)
    return target


def complete_checkpoints(directory: Path) -> list[Path]:
    """The complete checkpoints, oldest first."""
    return sorted((p for p in directory.glob("step-*") if is_whole(p)), key=step_of)


def remove_broken(directory: Path) -> list[Path]:
    """Remove incomplete checkpoints, which an interrupted run left. Returns their paths."""
    broken = sorted([p for p in directory.glob("step-*") if not is_whole(p)] + [*directory.glob(".step-*.partial")])
    for path in broken:
        shutil.rmtree(path)
    return broken


def step_of(checkpoint: Path) -> int:
    """Number of steps that were done when the checkpoint was written."""
    return int(checkpoint.name.removeprefix("step-"))


def load_checkpoint(checkpoint: Path, learner: Learner) -> dict[str, Any]:
    """Restore the learner's tensors from a checkpoint into `learner`. Returns the state that `save_checkpoint` got.

    Raises `GymposiumError` if the checkpoint is of a learner with other settings."""
    state: dict[str, Any] = json.loads((checkpoint / STATE).read_text(encoding="utf-8"))
    with ExitStack() as opened:
        files = [checkpoint / _name(number) for number in range(state.pop("files"))]
        learner.load(_Tensors([opened.enter_context(safe_open(file, framework="pt")) for file in files]))
    return state


def copy_weights(checkpoint: Path, model: torch.nn.Module) -> None:
    """Copy the trained weights of a checkpoint into a model of the same form."""
    named, files = dict(model.named_parameters()), sorted(checkpoint.glob("learner-*.safetensors"))
    with ExitStack() as opened, torch.no_grad():
        tensors = _Tensors([opened.enter_context(safe_open(file, framework="pt")) for file in files])
        for key in tensors:
            kind, _, name = key.partition("|")
            if kind == "weights" and name in named:  # a critic is not part of the model
                named[name].copy_(tensors[key])


class _Tensors(Mapping[str, Tensor]):
    """The tensors of some files by name. A tensor is read when it is accessed."""

    def __init__(self, files: Iterable[Any]) -> None:
        self._files = {name: file for file in files for name in file.keys()}  # noqa: SIM118 (it is no mapping)

    def __getitem__(self, name: str) -> Tensor:
        tensor: Tensor = self._files[name].get_tensor(name)
        return tensor

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


def _write(tensors: Iterable[tuple[str, Tensor]], directory: Path) -> int:
    """Write tensors to files of at most `PART` bytes, or of one tensor, in `directory`. Returns the number of files."""
    files = 0
    part: dict[str, Tensor] = {}
    for name, tensor in tensors:
        if part and tensor.nbytes + sum(one.nbytes for one in part.values()) > PART:
            save_file(part, directory / _name(files))
            files += 1
            part = {}
        part[name] = tensor
    save_file(part, directory / _name(files))
    return files + 1


def _name(number: int) -> str:
    return f"learner-{number + 1:05d}.safetensors"
