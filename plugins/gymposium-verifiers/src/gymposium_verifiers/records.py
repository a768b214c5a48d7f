"""The records of the matches of a run, from the traces that verifiers has saved."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from gymposium.errors import BadRecord
from gymposium.records import Record
from gymposium.util.lines import LineWriter
from gymposium_verifiers.scores import INFO

TRACES = "traces.jsonl"
"""The file of episodes in the folder of a run."""


def records_of(run: str | Path) -> Iterator[Record]:
    """The record of each match of a run, from the run's folder, in the order in which the matches ended. Episodes that
    failed before their match began have none.

    Raises `BadRecord` for a line that is no episode or holds no valid record."""
    path = Path(run) / TRACES
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            try:
                notes = [trace["info"].get(INFO, {}) for trace in json.loads(line)["traces"]]
                lines = [found["record"] for found in notes if "record" in found]
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise BadRecord(f"{path}:{number} is no episode of verifiers ({error!r})") from error
            for record in lines:
                yield Record.parse(record)


def save_records(run: str | Path, to: str | Path) -> int:
    """Append the records of a run to a file, which `gymposium verify` and `gymposium view` read. Returns their number.
    Raises as `records_of` does, and `GymposiumError` if the file cannot be written."""
    lines = [record.line() for record in records_of(run)]
    with LineWriter(Path(to)) as file:
        file.append_lines(*lines)
    return len(lines)
