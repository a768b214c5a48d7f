"""The protocol of loggers, which write the metrics of each step to a file or a service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

Metrics = Mapping[str, float | int | str]
"""Values by flat names such as `rollout/reward`; no name is `step`. A number may be NaN or infinite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggerStart:
    """The run that a logger is made for. The factory of a logger is called with it."""

    run: str
    """The run's name, for people. It need not be unique."""
    directory: Path
    """The run's directory, which outlives the process. A logger keeps there, under its own name, what it must know
    after a resume."""
    config: Mapping[str, Any]
    """All settings of the run as plain data: mappings, lists, text, numbers. It holds no API key."""
    resumed: bool = False
    """True if an earlier process began the run. A logger then continues where that one stopped, if it can."""
    step: int = 0
    """The first step that will be logged. After a resume it may be smaller than the last one logged: steps after the
    checkpoint are run again and logged again."""


class Logger(Protocol):
    """Writes the metrics of a run. It is made in one process of the run and called from one thread.

    Errors are raised by the call that notices them; the run then saves a checkpoint and stops."""

    def log(self, step: int, metrics: Metrics) -> None:
        """Write the metrics of a step. Steps never decrease, and one step may be logged in several calls."""

    def artifact(self, name: str, path: Path) -> None:
        """Store a finished file with the run, such as its report. A logger that stores no files does nothing."""

    def close(self, error: BaseException | None = None) -> None:
        """Write what is left, and mark the run as finished, or as failed with `error`. Called once."""
