"""Checkpoints: staged, synced, renamed, marked complete. Weights are safetensors, nothing is pickled.

A checkpoint is a directory `step-00040` with everything that decides the next number: what the learner holds, by name
(`learner.safetensors`: weights, optimizer, critic, reference), and all else as `state.json` (steps done, who plays,
credit's moving means, CPU seconds). Where a LoRA is trained, it lies there as PEFT and vLLM load it, too. A checkpoint
counts only with its `COMPLETE` mark; a half-written one is named and removed.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file

from gymposium.durable import remove_directory, sweep, whole_directory
from gymposium_agents.lora.saving import save_lora
from gymposium_train.directory import is_whole
from gymposium_train.learner import Learner

TENSORS = "learner.safetensors"
STATE = "state.json"


def save_checkpoint(directory: Path, learner: Learner, state: Mapping[str, Any], *, keep: int) -> Path:
    """Write the checkpoint of `state["step"]`, whole or not at all. The newest `keep` stay; older ones go once it is
    there."""
    target = directory / f"step-{state['step']:05d}"
    sweep(directory, "step-")
    if target.exists():
        remove_directory(target)
    with whole_directory(target) as staging:
        if hasattr(learner.whole, "peft_config"):
            save_lora(learner.whole, staging)
        save_file(learner.tensors(), staging / TENSORS)
        (staging / STATE).write_text(json.dumps(state, indent=2) + "\n", encoding="utf-8")
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
    learner.load(load_file(checkpoint / TENSORS))
    state: dict[str, Any] = json.loads((checkpoint / STATE).read_text(encoding="utf-8"))
    return state
