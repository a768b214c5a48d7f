"""Record files: appended to line by line, read back whatever state they are in."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from gymposium.driver import EngineError, MatchResult
from gymposium.errors import BadRecord
from gymposium.lines import LineWriter
from gymposium.records.record import Record


class RecordWriter:
    """Appends records to a file that nobody else writes meanwhile. A record is in the file when `write` returns; what a
    killed writer left of a last line is cut off when the file is opened."""

    def __init__(self, path: str | Path, *, wait: bool = False) -> None:
        """With `wait` another writer of the file is waited for. Raises as `gymposium.lines.LineWriter` does."""
        self._lines = LineWriter(path, wait=wait)
        self.path = self._lines.path
        self.torn = self._lines.torn
        """Whether there was such a rest of a line."""

    @property
    def size(self) -> int:
        """Bytes of the file so far."""
        return self._lines.size

    def write(self, played: MatchResult) -> Record:
        """Append a record."""
        record = Record.of(played)
        self._lines.write(record.line())
        return record

    def close(self) -> None:
        self._lines.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def recorded(matches: Iterator[MatchResult], write: Callable[[MatchResult], object]) -> Iterator[MatchResult]:
    """The matches, each written as it ends. Where one breaks off since its engine fails, what there is of it
    is written before the error goes on."""
    try:
        for played in matches:
            write(played)
            yield played
    except EngineError as error:
        write(error.played)
        raise


def ends_line(path: Path) -> bool:
    """Whether a file's last line is whole."""
    with open(path, "rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


@dataclass(slots=True)
class Problem:
    """Something in a record file that is not as it should be."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def read_records(path: str | Path) -> Iterator[tuple[int, Record | Problem]]:
    """Every line of a file with its number: a record, or what is wrong with the line. Nothing is skipped
    silently; a half-written last line is a `Problem` like any other."""
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                yield number, Record.parse(line)
            except BadRecord as error:
                yield number, Problem(f"{path}:{number}", str(error))


def no_records(path: str | Path, problems: Sequence[Problem]) -> Problem:
    """What is wrong with a file that holds no record; `problems` are those of its lines."""
    why = f"line {problems[0].where.rpartition(':')[2]} is {problems[0].what}" if problems else "it is empty"
    return Problem(str(path), f"holds no match record: {why}")
