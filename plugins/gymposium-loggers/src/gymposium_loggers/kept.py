"""Storage of the id that a service gives to a run, in the run's directory, for when the run is resumed."""

from __future__ import annotations

from pathlib import Path

from gymposium.errors import BadOption, reason
from gymposium.runs.loggers.protocol import LoggerStart
from gymposium.util.durable import replace_text
from gymposium.util.plain_file import read_plain_text

_MOST_BYTES = 4096


def recall(start: LoggerStart, service: str) -> str | None:
    """Return the id that an earlier process of this run stored, or None if the run is new or had no such logger.

    Raises `BadOption` for a file that holds no such id."""
    file = _file(start, service)
    if not (start.resumed and file.exists()):
        return None
    try:
        return read_plain_text(file, _MOST_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        raise BadOption(
            f"{file}: the id of the run at {service} cannot be read ({reason(error)}). Remove the file to begin a new "
            f"run there."
        ) from error


def keep(start: LoggerStart, service: str, known_by: str) -> None:
    """Store the id, in place of that of an earlier run in the same directory."""
    file = _file(start, service)
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_text(file, known_by)


def _file(start: LoggerStart, service: str) -> Path:
    return start.directory / "loggers" / f"{service}.txt"
