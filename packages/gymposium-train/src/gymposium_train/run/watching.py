"""The receivers of a run's metrics: its metrics.jsonl, the view, the loggers, and callbacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gymposium.runs.curves import TRAIN
from gymposium.runs.loggers.protocol import Logger
from gymposium_train.config.directory import RunDirectory
from gymposium_train.run.callbacks import Callback
from gymposium_train.run.live import ProgressView


class RunReporter:
    """The distribution of metrics to their receivers. Loggers get only steps of reinforcement learning, because a
    logger's steps must not decrease. Steps of the cold start and the control are in metrics.jsonl."""

    def __init__(
        self, directory: RunDirectory, view: ProgressView, loggers: Sequence[Logger], callbacks: Sequence[Callback]
    ) -> None:
        self._directory, self._view, self._loggers, self._callbacks = directory, view, loggers, callbacks

    def stepped(self, stage: str, step: int, metrics: Mapping[str, Any]) -> None:
        """Report a step of a stage, counted from 1 in reinforcement learning. The metrics are first written to their
        file. Raises `LoggerError` if a logger fails, and whatever a callback raises."""
        self._directory.log({"stage": stage, "step": step, **metrics})
        self._view.show(metrics, stage)
        if stage == TRAIN:
            logged = self._log_metrics(step, metrics)
            for callback in self._callbacks:
                callback.on_step(step, logged)

    def saved(self, checkpoint: Path) -> None:
        """Report that a checkpoint was written."""
        for callback in self._callbacks:
            callback.on_checkpoint(checkpoint)

    def measured(self, step: int, metrics: Mapping[str, float]) -> None:
        """Report an evaluation of this step's policy against the whole panel. Step 0 is before the first step."""
        self._view.show(metrics)
        self._log_metrics(step, metrics)

    def finished(self) -> None:
        """Report that the run is done and its report is written."""
        for logger in self._loggers:
            logger.artifact("report", self._directory.report)
        for callback in self._callbacks:
            callback.on_end(self._directory)

    def _log_metrics(self, step: int, metrics: Mapping[str, Any]) -> dict[str, float | int | str]:
        plain = {name: value for name, value in metrics.items() if isinstance(value, int | float | str)}
        for logger in self._loggers:
            logger.log(step, plain)
        return plain
