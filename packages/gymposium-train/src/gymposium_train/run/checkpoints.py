"""Checkpoints: directories that resume a run with identical results.

A checkpoint is a directory such as `step-00040`. The learner writes its own state there (`Learner.save_state`). A
learner on this machine writes its weights, optimizer, critic and reference as safetensors. Everything else is in
`state.json`: steps done, rollout state, moving means of the credit, CPU seconds. A checkpoint is written to a staging
directory, synced and renamed. If its `COMPLETE` marker is missing, it is reported and removed.

During reinforcement learning, a thread does all that waits for the disk. The system's file cache is the copy of the
state, so training may change the weights meanwhile. Another copy in memory would take as long as writing the files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from gymposium.util.durable import remove_directory, remove_staging, write_directory
from gymposium_train.config.directory import RunDirectory, check_state, is_complete, read_state
from gymposium_train.learner import Learner

STATE = "state.json"

_NAME = re.compile(r"step-[0-9]{1,18}")


def save_checkpoint(
    directory: Path, learner: Learner, state: Mapping[str, Any], *, keep: int, besides: int | None = None
) -> Path:
    """Write the checkpoint of `state["step"]` atomically. Then remove all checkpoints except the newest `keep` and that
    of step `besides`."""
    return write_checkpoint(directory, learner, state, keep=keep, besides=besides)()


def write_checkpoint(
    directory: Path,
    learner: Learner,
    state: Mapping[str, Any],
    *,
    keep: int,
    besides: int | None = None,
    weights_only: bool = False,
) -> Callable[[], Path]:
    """Write the files of a checkpoint, with arguments as of `save_checkpoint`; `weights_only` is as in
    `Learner.save_state`. Returns a function that completes it: it syncs and renames the files, and removes old
    checkpoints. Any thread may call it."""
    target = checkpoint_path(directory, state["step"])
    remove_staging(directory, "step-")
    if target.exists():
        remove_directory(target)
    with ExitStack() as stack:
        staging = stack.enter_context(write_directory(target))
        learner.save_state(staging, weights_only=weights_only)
        (staging / STATE).write_text(json.dumps(state, indent=2) + "\n", encoding="utf-8")
        written = stack.pop_all()

    def complete() -> Path:
        written.close()
        saved = list_complete_checkpoints(directory)
        kept = _select_kept([*map(read_step, saved)], keep, besides)
        for path in saved:
            if read_step(path) not in kept:
                remove_directory(path)
        return target

    return complete


def _select_kept(steps: Sequence[int], keep: int, besides: int | None) -> list[int]:
    """Return the newest `keep` steps and `besides`, of steps in order."""
    return [step for step in steps if step in steps[-keep:] or step == besides]


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
    be healthy.

    A thread completes each checkpoint while training continues. The next one, and the end of the block that the keeper
    opens, wait for it. What it raises is raised in the caller's thread."""

    def __init__(
        self,
        directory: RunDirectory,
        learner: Learner,
        keep: int,
        report: Callable[[Path], object] = lambda checkpoint: None,
    ) -> None:
        """`report` is called with each complete checkpoint, in the caller's thread."""
        self._directory, self._learner, self._keep, self._report = directory, learner, keep, report
        self._steps = [*map(read_step, list_complete_checkpoints(directory.checkpoints))]
        """The steps of the checkpoints that exist once the last one is complete."""
        self.healthy = next(iter(self._steps), 0)
        """The step of the last healthy checkpoint. Initially the step of the oldest checkpoint, or 0 in a new run."""
        self._thread = ThreadPoolExecutor(1, "checkpoints")
        self._last: tuple[Future[Path], Callable[[Path], object]] | None = None
        """The last checkpoint being completed, and the function to report it to."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        with self._thread:
            self.collect()

    def save(self, state: Mapping[str, Any]) -> None:
        """Write the checkpoint of `state["step"]`, and remove old checkpoints."""
        self.collect()
        complete = write_checkpoint(
            self._directory.checkpoints, self._learner, state, keep=self._keep, besides=self.healthy
        )
        self._steps = _select_kept(sorted({*self._steps, state["step"]}), self._keep, self.healthy)
        self._last = self._thread.submit(complete), self._report

    def save_best(self, state: Mapping[str, Any]) -> None:
        """Save the weights as the best so far, without the optimizer's state, which takes twice their space. The
        previous best weights stay until a checkpoint confirms the new ones."""
        self.collect()
        complete = write_checkpoint(self._directory.best, self._learner, state, keep=2, weights_only=True)
        self._last = self._thread.submit(complete), lambda checkpoint: None

    def collect(self, *, wait: bool = True) -> None:
        """Wait until the last checkpoint is complete, and report it. Without `wait`, do nothing if it is not complete.

        Raises what its completion raised."""
        if self._last is not None and (wait or self._last[0].done()):
            (last, report), self._last = self._last, None
            report(last.result())

    def note_healthy(self, step: int) -> None:
        """Note that the policy was healthy at this step."""
        self.healthy = max((saved for saved in self._steps if saved <= step), default=self.healthy)

    def roll_back(self) -> dict[str, Any]:
        """Restore the learner from the last healthy checkpoint, and remove later ones. Returns its state. Policy
        version numbers keep increasing, so that no number is published twice."""
        self.collect()
        version, folder = self._learner.policy_version, self._directory.checkpoints
        remove_later_checkpoints(folder, self.healthy)
        self._steps = [step for step in self._steps if step <= self.healthy]
        state = load_checkpoint(checkpoint_path(folder, self.healthy), self._learner)
        self._learner.policy_version = version + 1
        return state
