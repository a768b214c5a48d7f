"""The protocol of loggers, which write each step's metrics to a file or a service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

Metrics = Mapping[str, float | int | str]
"""Values by flat names such as `rollout/reward`, never `step`. A number may be NaN or infinite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggerStart:
    """The run that a logger is made for, passed to the logger's factory."""

    run: str
    """The run's name, for people. It need not be unique."""
    directory: Path
    """The run's directory, which outlives the process. A logger stores there, under its own name, what it needs after a
    resume."""
    config: Mapping[str, Any]
    """All settings of the run as plain data: mappings, lists, text, numbers. Contains no API keys."""
    resumed: bool = False
    """True if an earlier process began the run. A logger then continues from there if it can."""
    step: int = 0
    """The first step to log. After a resume it may be smaller than the last one logged: steps after the checkpoint are
    run and logged again."""


class Logger(Protocol):
    """Protocol of a logger for a run's metrics. It is made in one process and called from one thread.

    The call that notices an error raises it. The run then saves a checkpoint and stops."""

    def log(self, step: int, metrics: Metrics) -> None:
        """Write a step's metrics. Steps never decrease, and one step may be logged in several calls."""

    def artifact(self, name: str, path: Path) -> None:
        """Store a finished file with the run, such as its report. Loggers without file storage do nothing."""

    def close(self, error: BaseException | None = None) -> None:
        """Write pending data, and mark the run as finished, or as failed with `error`. Called once."""
