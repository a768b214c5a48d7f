"""Callbacks: code of the user that a run calls as it proceeds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gymposium_train.directory import RunDirectory


class Callback:
    """Methods that a run calls; each does nothing until it is overridden:

        class Stop(Callback):
            def on_step(self, step, metrics):
                if metrics.get("rollout/stage") == 3:
                    raise KeyboardInterrupt

    They are called in the thread that trains, so it waits for them. What one raises ends the run: after
    `KeyboardInterrupt`, as after Ctrl-C, it can be resumed."""

    def on_step(self, step: int, metrics: Mapping[str, Any]) -> None:
        """A step of reinforcement learning is done, counted from 1. The metrics are those that loggers get."""

    def on_checkpoint(self, path: Path) -> None:
        """A checkpoint was written, whole. It is deleted when enough newer ones are there."""

    def on_end(self, directory: RunDirectory) -> None:
        """The run is over, its report written. Not called where the run was interrupted or failed."""
