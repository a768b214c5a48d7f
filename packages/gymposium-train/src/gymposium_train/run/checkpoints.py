"""Checkpoints: directories that resume a run with identical results.

A checkpoint is a directory such as `step-00040`. The learner writes its own state there (`Learner.save_state`). A
learner on this machine writes its weights, optimizer, critic and reference as safetensors. Everything else is in
`state.json`: steps done, rollout state, moving means of the credit, CPU seconds. A checkpoint is written to a staging
directory, synced and renamed. If its `COMPLETE` marker is missing, it is reported and removed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gymposium.util.durable import remove_directory, remove_staging, write_directory
from gymposium_train.config.directory import check_state, is_complete, read_state
from gymposium_train.learner import Learner

STATE = "state.json"

_NAME = re.compile(r"step-[0-9]{1,18}")


def save_checkpoint(
    directory: Path,
    learner: Learner,
    state: Mapping[str, Any],
    *,
    keep: int,
    besides: int | None = None,
    weights_only: bool = False,
) -> Path:
    """Write the checkpoint of `state["step"]` atomically. Then remove all checkpoints except the newest `keep` and that
    of step `besides`. `weights_only` is as in `Learner.save_state`."""
    target = checkpoint_path(directory, state["step"])
    remove_staging(directory, "step-")
    if target.exists():
        remove_directory(target)
    with write_directory(target) as staging:
        learner.save_state(staging, weights_only=weights_only)
        (staging / STATE).write_text(json.dumps(state, indent=2) + "\n", encoding="utf-8")
    for old in list_complete_checkpoints(directory)[:-keep]:
        if read_step(old) != besides:
            remove_directory(old)
    return target


def checkpoint_path(directory: Path, step: int) -> Path:
    """Return the path of a step's checkpoint."""
    return directory / f"step-{step:05d}"


def list_complete_checkpoints(directory: Path) -> list[Path]:
    """Return the complete checkpoints, oldest first."""
    return sorted((path for path in _list_checkpoints(directory) if is_complete(path)), key=read_step)


def remove_incomplete_checkpoints(directory: Path) -> list[Path]:
    """Remove incomplete checkpoints left by an interrupted run. Returns their paths."""
    broken = sorted(
        [*(p for p in _list_checkpoints(directory) if not is_complete(p)), *directory.glob(".step-*.partial")]
    )
    for path in broken:
        remove_directory(path)
    return broken


def _list_checkpoints(directory: Path) -> list[Path]:
    """Return the paths with names of checkpoints."""
    return [path for path in directory.glob("step-*") if _NAME.fullmatch(path.name)]


def read_step(checkpoint: Path) -> int:
    """Return the number of steps done when the checkpoint was written."""
    return int(checkpoint.name.removeprefix("step-"))


def load_checkpoint(checkpoint: Path, learner: Learner, *, weights_only: bool = False) -> dict[str, Any]:
    """Restore the state of `learner` from a checkpoint saved with the same `weights_only`. Returns the state passed to
    `save_checkpoint`.

    Raises `GymposiumError` if the learner's settings differ from the checkpoint's, its state cannot be read, or the
    state is that of another step."""
    state = read_state(checkpoint / STATE)
    with check_state(checkpoint / STATE):
        if state["step"] != read_step(checkpoint):
            raise ValueError(f"its step is {str(state['step'])[:80]}, not that of its directory")
    learner.load_state(checkpoint, weights_only=weights_only)
    return state


def remove_later_checkpoints(directory: Path, step: int) -> None:
    """Remove the checkpoints of steps after `step`."""
    for path in list_complete_checkpoints(directory):
        if read_step(path) > step:
            remove_directory(path)


class CheckpointKeeper:
    """The checkpoints of a run. It keeps the newest ones, and the last healthy checkpoint until a newer one is known to
    be healthy."""

    def __init__(self, directory: Path, learner: Learner, keep: int) -> None:
        self._directory, self._learner, self._keep = directory, learner, keep
        self.healthy = next(map(read_step, list_complete_checkpoints(directory)), 0)
        """The step of the last healthy checkpoint. Initially the step of the oldest checkpoint, or 0 in a new run."""

    def save(self, state: Mapping[str, Any]) -> Path:
        """Write the checkpoint of `state["step"]`, and remove old checkpoints."""
        return save_checkpoint(self._directory, self._learner, state, keep=self._keep, besides=self.healthy)

    def note_healthy(self, step: int) -> None:
        """Note that the policy was healthy at this step."""
        steps = map(read_step, list_complete_checkpoints(self._directory))
        self.healthy = max((saved for saved in steps if saved <= step), default=self.healthy)

    def roll_back(self) -> dict[str, Any]:
        """Restore the learner from the last healthy checkpoint, and remove later ones. Returns its state. Policy
        version numbers keep increasing, so that no number is published twice."""
        version = self._learner.policy_version
        remove_later_checkpoints(self._directory, self.healthy)
        state = load_checkpoint(checkpoint_path(self._directory, self.healthy), self._learner)
        self._learner.policy_version = version + 1
        return state
