"""Callbacks: user code that a run calls as it proceeds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gymposium_train.config.directory import RunDirectory


class Callback:
    """Base class of callbacks. A run calls its methods. They do nothing unless overridden:

        class Stop(Callback):
            def on_step(self, step, metrics):
                if metrics.get("rollout/stage") == 3:
                    raise KeyboardInterrupt

    Training waits until a method returns. An exception ends the run. `KeyboardInterrupt` ends it like Ctrl-C, so it can
    be resumed."""

    def on_step(self, step: int, metrics: Mapping[str, Any]) -> None:
        """Handle the end of a step of reinforcement learning. Steps count from 1. `metrics` are the same as for
        loggers."""

    def on_checkpoint(self, path: Path) -> None:
        """Handle a complete checkpoint. It is deleted later, once there are enough newer ones. The run may already have
        taken further steps, because it does not wait for the disk."""

    def on_end(self, directory: RunDirectory) -> None:
        """Handle the end of a run, after its report is written. Not called if the run was interrupted or failed."""
