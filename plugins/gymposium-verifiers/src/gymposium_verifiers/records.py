"""A run's match records, read from the traces of verifiers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from gymposium.errors import BadRecord, describe_cause, describe_error
from gymposium.records import Record, write_records
from gymposium.util.lines import LineWriter
from gymposium.util.plain_file import is_compressed, read_lines
from gymposium_verifiers.scores import INFO

TRACES = "traces.jsonl"
"""The file of episodes in the folder of a run."""


def read_records(run: str | Path) -> Iterator[Record]:
    """Yield the match records in a run's folder, in order of their ends. Episodes that failed before the match have
    none.

    Raises `BadRecord` for a line that is not an episode or has no valid record, and for a file that cannot be read."""
    path = Path(run) / TRACES
    try:
        for number, line in enumerate(read_lines(path), start=1):
            yield from _parse_episode(line, f"{path}:{number}")
    except OSError as error:
        raise BadRecord(
            f"{path} cannot be read ({describe_cause(error)}). Name the folder of a run of verifiers."
        ) from error


def _parse_episode(line: bytes, where: str) -> list[Record]:
    try:
        notes = [trace["info"].get(INFO, {}) for trace in json.loads(line.decode())["traces"]]
        lines = [found["record"] for found in notes if "record" in found]
        if not all(isinstance(record, str) for record in lines):
            raise TypeError("a record is not text")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise BadRecord(f"{where} is not an episode of verifiers ({describe_error(error)}).") from error
    try:
        return [Record.parse(record) for record in lines]
    except BadRecord as error:
        raise BadRecord(f"{where} has a record that is {error}.") from error


def save_records(run: str | Path, to: str | Path) -> int:
    """Append a run's records to a file for `gymposium verify` and `gymposium view`, and return their number. A new
    `.gz` file is compressed.

    Raises like `read_records`, and `GymposiumError` if the file cannot be written."""
    to, records = Path(to), [*read_records(run)]
    if is_compressed(to) and not to.exists():
        write_records(to, records)
    else:
        with LineWriter(to) as file:
            file.append_lines(*(record.line() for record in records))
    return len(records)
