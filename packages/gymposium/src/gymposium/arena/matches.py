"""The record file of a lineup, to which a tournament appends matches in their planned order."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gymposium.lines import LineWriter
from gymposium.records import FORMAT, Record


class MatchesFile(LineWriter):
    """The record file of one lineup, open for one worker; other workers wait until it is closed.

    Opening it removes an incomplete last line, which a killed worker leaves behind, so that its match is played
    again."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, wait=True)  # a worker of a killed tournament may still be writing
        self.finished = set(_finished(path))
        """Ids of the matches that have a result; those that broke off have none."""

    def append(self, records: Iterable[Record]) -> None:
        """Append all of these records in one write."""
        self.append_lines(*(record.line() for record in records))


def _finished(path: Path) -> Iterable[str]:
    with open(path, "rb") as file:
        for line in file:
            match _parsed(line):
                case {"format": format, "id": str(match_id), "ending": {"kind": kind}} if format == FORMAT:
                    if kind != "broke off":
                        yield match_id


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
