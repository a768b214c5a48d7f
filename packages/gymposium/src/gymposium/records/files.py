"""Files of match records: a writer that appends lines, and a reader that reports every bad line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gymposium.driver import EngineError, MatchResult
from gymposium.errors import BadRecord
from gymposium.lines import LineWriter
from gymposium.records.record import Record


class RecordWriter(LineWriter):
    """Appends the records of matches to a file, which no other process can write meanwhile. A record is in the file
    when `write` returns."""

    def write(self, played: MatchResult) -> Record:
        """Append the record of a match and return it. Raises `GymposiumError` if the disk is full or fails."""
        record = Record.of(played)
        self.append_lines(record.line())
        return record


def recorded(matches: Iterator[MatchResult], write: Callable[[MatchResult], object]) -> Iterator[MatchResult]:
    """The matches, each written as it ends. If a game's engine fails, the match so far is written before the error is
    raised."""
    try:
        for played in matches:
            write(played)
            yield played
    except EngineError as error:
        write(error.played)
        raise


@dataclass(slots=True)
class Problem:
    """Something wrong in a file, with its place."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def read_records(path: str | Path) -> Iterator[tuple[int, Record | Problem]]:
    """Each line of a file with its number, as a record or as the problem with the line. Empty lines are left out; an
    incomplete last line is a `Problem`."""
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                try:
                    yield number, Record.parse(line)
                except BadRecord as error:
                    yield number, Problem(f"{path}:{number}", str(error))


def no_records(path: str | Path, problems: Sequence[Problem]) -> Problem:
    """The problem of a file without any record; `problems` are those of its lines."""
    why = f"line {problems[0].where.rpartition(':')[2]} is {problems[0].what}" if problems else "it is empty"
    return Problem(str(path), f"holds no match record: {why}")
