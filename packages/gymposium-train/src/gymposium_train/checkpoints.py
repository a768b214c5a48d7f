"""Checkpoints: staged, synced, renamed, marked complete. Weights are safetensors, nothing is pickled.

A checkpoint is a directory `step-00040` with everything that decides the next number: what the learner holds, by name
(weights, optimizer, critic, reference, in `learner-00001.safetensors` and so on), and all else as `state.json` (steps
done, who plays, credit's moving means, CPU seconds, the number of those files). The tensors are written and read one by
one. Where a LoRA is trained, it lies there as PEFT and vLLM load it, too. A checkpoint counts only with its `COMPLETE`
mark; a half-written one is named and removed.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from gymposium.durable import remove_directory, sweep, whole_directory
from gymposium_agents.lora.saving import save_lora
from gymposium_train.directory import is_whole
from gymposium_train.learner import Learner

STATE = "state.json"
PART = 2**28
"""Bytes of tensors in a file, unless one alone has more. So much is in memory at once, beside the learner."""


def save_checkpoint(directory: Path, learner: Learner, model: Any, state: Mapping[str, Any], *, keep: int) -> Path:
    """Write the checkpoint of `state["step"]`, completely or not at all, and then remove all but the newest `keep`.
    `model` is the learner's model as it is played; its LoRA is saved too, if it has one."""
    target = directory / f"step-{state['step']:05d}"
    sweep(directory, "step-")
    if target.exists():
        remove_directory(target)
    with whole_directory(target) as staging:
        if hasattr(model, "peft_config"):
            save_lora(model, staging)
        files = _write(learner.tensors(), staging)
        (staging / STATE).write_text(json.dumps({**state, "files": files}, indent=2) + "\n", encoding="utf-8")
    keep_newest(directory, keep)
    return target


def keep_newest(directory: Path, keep: int) -> list[Path]:
    """Remove all whole checkpoints but the newest, which are given back, oldest first."""
    found = complete_checkpoints(directory)
    for old in found[:-keep]:
        remove_directory(old)
    return found[-keep:]


def complete_checkpoints(directory: Path) -> list[Path]:
    """Checkpoints with their mark, oldest first."""
    return sorted((p for p in directory.glob("step-*") if is_whole(p)), key=step_of)


def remove_broken(directory: Path) -> list[Path]:
    """Remove what an interrupted writer left: directories without their mark. Returns which those were."""
    found = [*directory.glob("step-*"), *directory.glob(".step-*.partial")]
    broken = sorted(p for p in found if p.name.startswith(".") or not is_whole(p))
    for path in broken:
        shutil.rmtree(path)
    return broken


def step_of(checkpoint: Path) -> int:
    """Steps done when it was written."""
    return int(checkpoint.name.removeprefix("step-"))


def load_checkpoint(checkpoint: Path, learner: Learner) -> dict[str, Any]:
    """Put what a checkpoint holds of the learner into `learner`, and return its state.

    Raises `GymposiumError` where it is another learner's."""
    state: dict[str, Any] = json.loads((checkpoint / STATE).read_text(encoding="utf-8"))
    with ExitStack() as opened:
        files = [checkpoint / _name(number) for number in range(state.pop("files"))]
        learner.load(_Tensors([opened.enter_context(safe_open(file, framework="pt")) for file in files]))
    return state


class _Tensors(Mapping[str, Tensor]):
    """The tensors of some files by name, each read when it is asked for."""

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
    """Write tensors to files of at most `PART` bytes, or of one tensor, in `directory`; returns the number of files."""
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
