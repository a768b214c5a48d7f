"""A file of matches, as a tournament writes it: whole lines, in the order in which the matches were planned."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from gymposium.records import FORMAT, Record


class MatchesFile:
    """One lineup's file, open for one worker; another one waits until it is closed. What a killed one left of a line is
    cut away when it is opened, so that the match is played again."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(path, "a+b")  # noqa: SIM115
        # the worker of a tournament that was killed may still be about to write
        fcntl.flock(self._file, fcntl.LOCK_EX)
        self.torn = False
        """Whether there was such a rest of a line."""
        self.finished = set(self._recover())
        """Ids of the matches that have come to an end; those that broke off have not."""

    def _recover(self) -> Iterable[str]:
        """Ids of the whole records. Leaves the file at the end of its last whole line."""
        self._file.seek(0)
        whole = 0
        for line in self._file:
            if not line.endswith(b"\n"):
                self._file.truncate(whole)
                self.torn = True
                break
            whole += len(line)
            found = _parsed(line)
            if found.get("format") == FORMAT and found.get("error") is None and isinstance(found.get("id"), str):
                yield found["id"]

    def append(self, records: Iterable[Record]) -> None:
        """All of these at once."""
        self._file.write("".join(record.line() + "\n" for record in records).encode())
        self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
