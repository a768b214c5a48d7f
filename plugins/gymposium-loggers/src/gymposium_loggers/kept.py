"""Storage of the id that a service gives to a run, in the run's directory, for when the run is resumed."""

from __future__ import annotations

from pathlib import Path

from gymposium.durable import replace_text
from gymposium.loggers.protocol import LoggerStart


def recall(start: LoggerStart, service: str) -> str | None:
    """Return the id that an earlier process of this run stored, or None if the run is new or had no such logger."""
    file = _file(start, service)
    return file.read_text(encoding="utf-8") if start.resumed and file.exists() else None


def keep(start: LoggerStart, service: str, known_by: str) -> None:
    """Store the id, in place of that of an earlier run in the same directory."""
    file = _file(start, service)
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_text(file, known_by)


def _file(start: LoggerStart, service: str) -> Path:
    return start.directory / "loggers" / f"{service}.txt"
