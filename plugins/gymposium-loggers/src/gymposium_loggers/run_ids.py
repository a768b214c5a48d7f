"""Storage of a service's run id in the run's folder, for resuming."""

from __future__ import annotations

from pathlib import Path

from gymposium.errors import BadOption, describe_cause
from gymposium.runs.loggers.protocol import LoggerStart
from gymposium.util.durable import replace_text
from gymposium.util.plain_file import read_plain_text

_MOST_BYTES = 4096


def load_run_id(start: LoggerStart, service: str) -> str | None:
    """Return the id that an earlier process of this run stored, if any.

    Raises `BadOption` for a file without a valid id."""
    file = _find_id_file(start, service)
    if not (start.resumed and file.exists()):
        return None
    try:
        return read_plain_text(file, _MOST_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        raise BadOption(
            f"{file}: cannot read the run's id at {service} ({describe_cause(error)}). Remove the file to begin a new "
            f"run there."
        ) from error


def save_run_id(start: LoggerStart, service: str, run_id: str) -> None:
    """Store the id, replacing that of an earlier run in the same folder."""
    file = _find_id_file(start, service)
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_text(file, run_id)


def _find_id_file(start: LoggerStart, service: str) -> Path:
    return start.directory / "loggers" / f"{service}.txt"
