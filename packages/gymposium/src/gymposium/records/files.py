"""Files of match records: writers that append lines, a reader that reports every invalid line, and compressed files.

A file whose name ends in `.gz` is compressed with gzip. It is written as a whole and never appended to.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from gymposium.errors import BadOption, BadRecord, describe_cause
from gymposium.match import EngineError, MatchResult
from gymposium.records.record import Record
from gymposium.util.durable import replace_content, replace_file
from gymposium.util.lines import LineWriter
from gymposium.util.plain_file import (
    MOST_UNPACKED,
    compressed_path,
    is_compressed,
    open_plain,
    plain_path,
    read_lines,
)
from gymposium.util.strict_json import parse_strict_json


class RecordWriter(LineWriter):
    """An appending writer for match records. It locks the file against other processes.

    A record is in the file when `write` returns."""

    def write(self, played: MatchResult) -> Record:
        """Append a match's record and return it.

        Raises `GymposiumError` if writing fails, for example on a full disk."""
        record = Record.from_match(played)
        self.append_lines(record.line())
        return record


class RecordLine(NamedTuple):
    """A match's record as a line, without the newline."""

    id: str
    finished: bool
    """False if the match broke off."""
    text: str

    @classmethod
    def from_match(cls, played: MatchResult) -> RecordLine:
        """Return the line for a match played by the driver."""
        return cls.from_record(Record.from_match(played))

    @classmethod
    def from_record(cls, record: Record) -> RecordLine:
        """Return the line of a record."""
        return cls(record.id, not record.ending.broke_off, record.line())


class OrderedWriter(LineWriter):
    """A writer that appends records as matches end, and finally sorts them by match number.

    The record of a match that broke off stays in the file, and the match is played again."""

    def __init__(self, path: Path, numbers: Mapping[str, int], *, wait: bool = False) -> None:
        """`numbers` maps planned match ids to numbers. With `wait`, wait for another writer to close the file."""
        super().__init__(path, wait=wait)
        self._numbers = numbers
        self._lines: list[tuple[int, int, int]] = []
        """For each line: its match number, byte offset, and length in bytes."""
        self.finished: set[str] = set()
        """Ids of matches that did not break off."""

    def append(self, lines: Sequence[RecordLine]) -> None:
        """Append lines for planned matches in one write."""
        start = self.size
        self.append_lines(*(line.text for line in lines))
        for line in lines:
            self._add_line(self._numbers[line.id], start, len(line.text) + 1)
            start += len(line.text) + 1
            if line.finished:
                self.finished.add(line.id)

    def _add_line(self, number: int, start: int, length: int) -> None:
        self._lines.append((number, start, length))

    def sort(self) -> None:
        """Rewrite the file if its lines are out of order. Nothing can be written afterwards.

        If the process is killed during the rewrite, the file stays unchanged."""
        ordered = sorted(self._lines)
        if ordered == self._lines:
            return
        with replace_file(self.path) as new, open_plain(self.path, follow=False) as old:
            for _, start, length in ordered:
                old.seek(start)
                new.write(old.read(length))


def record_matches(matches: Iterator[MatchResult], write: Callable[[MatchResult], object]) -> Iterator[MatchResult]:
    """Yield the matches and write a record of each as it ends.

    If a game's engine fails, the match so far is written before the error is raised."""
    try:
        for played in matches:
            write(played)
            yield played
    except EngineError as error:
        write(error.played)
        raise


def write_records(path: str | Path, records: Iterable[Record]) -> None:
    """Write a new file of records atomically, compressed if its name ends in `.gz`. Equal records give equal bytes.

    Raises `BadOption` if the other form of the file (compressed or not) exists, and `GymposiumError` if the file cannot
    be written."""
    path = Path(path)
    other = plain_path(path) if is_compressed(path) else compressed_path(path)
    if other.exists():
        raise BadOption(f"{other} exists and would have the same matches as {path.name}. Remove it.")
    path.parent.mkdir(parents=True, exist_ok=True)
    with replace_content(path) as file:
        for record in records:
            file.write(f"{record.line()}\n".encode())


def compress_records(path: str | Path) -> Path:
    """Replace a finished file of records by its compressed form, and return the new path.

    The manifest and reviews stay valid. Raises `BadOption` if the file does not exist, is being written, is already
    compressed or exceeds 1 GiB. Raises `GymposiumError` if the compressed file cannot be written."""
    path = Path(path)
    if not path.is_file():
        raise BadOption(f"{path} does not exist. Name a file of matches.")
    with LineWriter(path) as locked:
        if locked.size > MOST_UNPACKED:
            raise BadOption(
                f"{path} is larger than {MOST_UNPACKED:,} bytes, too large to compress here. Compress it with: gzip "
                f"-9n {path}"
            )
        with replace_content(compressed_path(path)) as new, open_plain(path, follow=False) as old:
            shutil.copyfileobj(old, new, 1 << 20)
    path.unlink()
    return compressed_path(path)


MOST_INVALID = 1000
"""Maximum number of invalid lines. The rest of the file is not read."""
MOST_EMPTY = 1_000_000
"""Maximum number of empty lines. The rest of the file is not read."""


@dataclass(slots=True)
class Problem:
    """A problem in a file, with its location."""

    where: str
    what: str

    def __str__(self) -> str:
        """Format the problem on one line, so an id or a reply in it cannot look like another problem or a verdict."""
        return "␊".join(f"{self.where}: {self.what}".splitlines())


def is_record_file(path: str | Path) -> bool:
    """Return whether a file begins with a match record, in any version of the format. False if it cannot be read."""
    try:
        first = next((line for line in read_lines(path) if line.strip()), b"")
        data = parse_strict_json(first.decode("utf-8-sig"))
    except (OSError, ValueError):
        return False
    return isinstance(data, dict) and str(data.get("format")).startswith("gymposium-match-")


def read_records(path: str | Path) -> Iterator[tuple[int, Record | Problem]]:
    """Yield each line's number with its record or its problem. Empty lines are skipped.

    A file whose name ends in `.gz` is decompressed. An incomplete last line is a `Problem`. Reading ends with a
    `Problem` after `MOST_INVALID` invalid or `MOST_EMPTY` empty lines. Raises `BadRecord` for an unreadable file."""
    try:
        lines = (line.decode("utf-8", "replace") for line in read_lines(path))
        yield from parse_records(lines, path)
    except OSError as error:
        raise BadRecord(f"{path} cannot be read ({describe_cause(error)}). Name a readable file of matches.") from error


def parse_records(lines: Iterable[str], path: str | Path) -> Iterator[tuple[int, Record | Problem]]:
    """Parse lines from the file at `path`, like `read_records`."""
    invalid = empty = 0
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                yield number, Record.parse(line)
            except BadRecord as error:
                invalid += 1
                yield number, Problem(f"{path}:{number}", str(error))
        else:
            empty += 1
        if invalid == MOST_INVALID or empty == MOST_EMPTY:
            yield (
                number,
                Problem(
                    f"{path}:{number}",
                    f"{invalid} invalid and {empty} empty lines, so the rest of the file is not read",
                ),
            )
            return


def make_no_records_problem(path: str | Path, problems: Sequence[Problem]) -> Problem:
    """Return the problem to report for a file without records. `problems` are those of its lines."""
    why = f"line {problems[0].where.rpartition(':')[2]}: {problems[0].what}" if problems else "it is empty"
    return Problem(str(path), f"has no match record: {why}")
