"""A file of matches, as a tournament writes it: whole lines, in the order in which the matches were planned."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from gymposium.lines import LineWriter
from gymposium.records import FORMAT, Record


class MatchesFile:
    """One lineup's file, open for one worker; another one waits until it is closed. What a killed one left of a line is
    cut away when it is opened, so that the match is played again."""

    def __init__(self, path: Path) -> None:
        # the worker of a tournament that was killed may still be about to write
        self._lines = LineWriter(path, wait=True)
        self.torn = self._lines.torn
        """Whether there was such a rest of a line."""
        self.finished = set(_finished(path))
        """Ids of the matches that have come to an end; those that broke off have not."""

    def append(self, records: Iterable[Record]) -> None:
        """All of these at once."""
        self._lines.write(*(record.line() for record in records))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lines.close()


def _finished(path: Path) -> Iterable[str]:
    with open(path, "rb") as file:
        for line in file:
            found = _parsed(line)
            if found.get("format") == FORMAT and found.get("error") is None and isinstance(found.get("id"), str):
                yield found["id"]


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
