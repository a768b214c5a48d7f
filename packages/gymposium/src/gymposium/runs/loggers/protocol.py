"""The protocol of loggers, which write each step's metrics to a file or a service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

Metrics = Mapping[str, float | int | str]
"""Metric values by flat name, such as `rollout/reward`. The name is never `step`. A number may be NaN or infinite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggerStart:
    """Information about the run, passed to the logger's factory."""

    run: str
    """The run's display name. It need not be unique."""
    directory: Path
    """The run's directory, which outlives the process.

    Here a logger stores, under its name, what it needs to resume."""
    config: Mapping[str, Any]
    """All settings of the run as plain data: mappings, lists, text, numbers. Contains no API keys."""
    resumed: bool = False
    """True if an earlier process began the run. A logger then continues the earlier log if it can."""
    step: int = 0
    """The first step to log.

    After a resume, it may be smaller than the last logged step, because steps after the checkpoint are run and logged
    again."""


class Logger(Protocol):
    """Protocol of a logger for a run's metrics.

    A logger is created in one process and called from one thread. If a call raises, the run saves a checkpoint and
    stops."""

    def log(self, step: int, metrics: Metrics) -> None:
        """Write a step's metrics. Steps never decrease, and several calls may log the same step."""

    def artifact(self, name: str, path: Path) -> None:
        """Store a finished file with the run, such as its report. Loggers without file storage do nothing."""

    def close(self, error: BaseException | None = None) -> None:
        """Write pending data, and mark the run as finished, or as failed with `error`. Called once."""
