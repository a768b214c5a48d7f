"""Callbacks: the user's code that a run calls as it proceeds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gymposium_train.config.directory import RunDirectory


class Callback:
    """Base class of callbacks. A run calls its methods, which do nothing unless overridden:

        class Stop(Callback):
            def on_step(self, step, metrics):
                if metrics.get("rollout/stage") == 3:
                    raise KeyboardInterrupt

    Training waits until a method returns. An exception ends the run; `KeyboardInterrupt` ends it as Ctrl-C does, so it
    can be resumed."""

    def on_step(self, step: int, metrics: Mapping[str, Any]) -> None:
        """Called after each step of reinforcement learning, counted from 1, with the metrics that loggers get."""

    def on_checkpoint(self, path: Path) -> None:
        """Called when a checkpoint is complete. It is deleted later, when there are enough newer ones."""

    def on_end(self, directory: RunDirectory) -> None:
        """Called when the run is done and its report is written; not if the run was interrupted or failed."""
