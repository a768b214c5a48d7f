"""What a logger is: numbers by step in, into a file or to a service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

Metrics = Mapping[str, float | int | str]
"""Flat names such as `rollout/reward`, each with its value; none is called `step`. A number may be NaN or infinite:
that is worth knowing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggerStart:
    """What a logger is told of the run when it is made."""

    run: str
    """The run's name, for people; another run may have the same."""
    directory: Path
    """The run's own, which outlives the process. What a logger must know again after a resume it keeps there, under
    its own name."""
    config: Mapping[str, Any]
    """Everything that decides the run, as plain data: mappings, lists, text, numbers. It holds no key."""
    resumed: bool = False
    """Whether an earlier process began the run. A logger then goes on where that one stopped, if it can."""
    step: int = 0
    """The first step that will be logged. After a resume it may lie before the last one that was logged: what came
    after the checkpoint is run again and logged again."""


class Logger(Protocol):
    """Takes a run's metrics. One process of a run has it, and calls it from one thread.

    What goes wrong is raised, from the call where it is noticed: the run then saves a checkpoint and stops."""

    def log(self, step: int, metrics: Metrics) -> None:
        """Take the metrics of a step. Steps never fall, and one step may be logged in several parts."""

    def artifact(self, name: str, path: Path) -> None:
        """Keep a finished file with the run, such as its report. What holds no files does nothing."""

    def close(self, error: BaseException | None = None) -> None:
        """Write what is left and mark the run as finished, or as failed with `error`. Called once."""
