"""The name that a service knows a run by, kept in the run's directory, so that a resume finds it again."""

from __future__ import annotations

from pathlib import Path

from gymposium.loggers.protocol import LoggerStart


def recall(start: LoggerStart, service: str) -> str | None:
    """What was kept by an earlier process of this run; None where it is new, or had no such logger."""
    file = _file(start, service)
    return file.read_text(encoding="utf-8") if start.resumed and file.exists() else None


def keep(start: LoggerStart, service: str, known_by: str) -> None:
    """Keep it; an earlier run's in the same directory is forgotten."""
    file = _file(start, service)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(known_by, encoding="utf-8")


def _file(start: LoggerStart, service: str) -> Path:
    return start.directory / "loggers" / f"{service}.txt"
