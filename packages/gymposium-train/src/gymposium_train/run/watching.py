"""Everybody who is told what a step showed: the run's own metrics.jsonl, the view, the loggers, callbacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gymposium.loggers.protocol import Logger
from gymposium_train.callbacks import Callback
from gymposium_train.directory import RunDirectory
from gymposium_train.live import View

COLD_START, TRAIN, CONTROL = "cold_start", "train", "control"
"""The stages that lines of metrics.jsonl come from."""


class Watchers:
    """Hands metrics on. The cold start's and the control's steps stand in metrics.jsonl alone: a logger's steps never
    fall, and they are those of the reinforcement learning."""

    def __init__(
        self, directory: RunDirectory, view: View, loggers: Sequence[Logger], callbacks: Sequence[Callback]
    ) -> None:
        self._directory, self._view, self._loggers, self._callbacks = directory, view, loggers, callbacks

    def imitated(self, stage: str, step: int, metrics: Mapping[str, Any]) -> None:
        """Report a step of SFT."""
        self._directory.log({"stage": stage, "step": step, **metrics})
        self._view.show(metrics)

    def trained(self, step: int, metrics: Mapping[str, Any]) -> None:
        """A step of reinforcement learning, counted from 1. Raises `LoggerError` where a logger fails, and whatever a
        callback raises; the metrics stand in their file then."""
        self._directory.log({"stage": TRAIN, "step": step, **metrics})
        self._view.show(metrics)
        told = self._log(step, metrics)
        for callback in self._callbacks:
            callback.on_step(step, told)

    def saved(self, checkpoint: Path) -> None:
        """Report that a checkpoint was written."""
        for callback in self._callbacks:
            callback.on_checkpoint(checkpoint)

    def measured(self, step: int, metrics: Mapping[str, float]) -> None:
        """What the policy of this step is worth against the whole panel; 0: before the first step."""
        self._view.show(metrics)
        self._log(step, metrics)

    def finished(self) -> None:
        """Report that the run is done and its report written."""
        for logger in self._loggers:
            logger.artifact("report", self._directory.report)
        for callback in self._callbacks:
            callback.on_end(self._directory)

    def _log(self, step: int, metrics: Mapping[str, Any]) -> dict[str, float | int | str]:
        told = {name: value for name, value in metrics.items() if isinstance(value, int | float | str)}
        for logger in self._loggers:
            logger.log(step, told)
        return told
