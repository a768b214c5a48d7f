"""The index of the matches recorded below a folder. It is extended as the files grow."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from threading import Lock

from gymposium.errors import BadRecord
from gymposium.records import Problem, Record
from gymposium.records.files import MOST_INVALID
from gymposium.runs.growing import GrowingFile, GrowingLine
from gymposium.runs.links import escapes_directory
from gymposium.runs.run import is_data_file
from gymposium.util.plain_file import is_compressed, open_content, plain_path
from gymposium_viewer.replays.match_filter import MatchFilter
from gymposium_viewer.replays.reply_search import search_rows
from gymposium_viewer.replays.rows import Row, RowReader

_SNIFF = 20
"""Number of leading lines without a match that mark another kind of file."""


@dataclass(slots=True)
class _IndexedFile:
    """A file and what has been read from it so far."""

    lines: GrowingFile
    reader: RowReader
    rows: list[Row] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    foreign: str | None = None
    """Why the file is not a record file; None if it is a record file."""
    last: Row | Problem | None = None
    """The last line if it has no line break yet. It may be complete, truncated, or still being written."""
    unreadable: Problem | None = None
    """Why the rest of the file cannot be read; None if it can."""


class MatchIndex:
    """The matches below a directory, or in one file."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._files: dict[str, _IndexedFile] = {}
        self._linked: dict[str, str] = {}
        self._lock, self._reading = Lock(), Lock()
        self.rows: list[Row] = []
        """All matches, ordered by file path, then by line."""
        self.problems: list[Problem] = []
        """Lines of record files that are not matches."""
        self.foreign: dict[str, str] = {}
        """Files without matches and files that are not read, each with the reason."""
        self._by_id: dict[str, Row] | None = None
        self._by_deal: dict[tuple[str, int], list[Row]] | None = None
        self._long: dict[str, int] | None = None
        self._selected: dict[MatchFilter, list[Row]] = {}
        self._unpacked: tuple[Path, BufferedReader] | None = None
        """The most recently read compressed file, kept open for its next line."""

    def refresh(self) -> None:
        """Read the data added since the last call."""
        with self._lock:
            paths, linked = self._find_paths()
            changed = paths.keys() != self._files.keys() or linked != self._linked
            self._linked = linked
            self._files = {
                name: self._files.get(name) or _IndexedFile(GrowingFile(path), RowReader(name))
                for name, path in paths.items()
            }
            for file in self._files.values():
                changed |= _read_new_lines(file)
            if changed:
                self._collect()

    def parse_all(self) -> None:
        """Parse all matches in full, and add invalid records to the problems.

        Rows alone are read without full parsing."""
        with self._lock:
            for file in self._files.values():
                items = [self._check_row(row) for row in file.rows]
                file.rows = [item for item in items if isinstance(item, Row)]
                file.problems += [item for item in items if isinstance(item, Problem)]
                file.last = self._check_row(file.last) if isinstance(file.last, Row) else file.last
            self._collect()

    def _check_row(self, row: Row) -> Row | Problem:
        try:
            self.read_record(row)
        except BadRecord as error:
            return Problem(f"{row.file}:{row.line}", str(error))
        return row

    def find_row(self, file: str, line: int) -> Row | None:
        """Return the row of the match in this line, or None."""
        known = self._files.get(file)
        if known is None:
            return None
        if isinstance(known.last, Row) and known.last.line == line:
            return known.last
        at = bisect_left(known.rows, line, key=lambda row: row.line)
        return known.rows[at] if at < len(known.rows) and known.rows[at].line == line else None

    def read_record(self, row: Row) -> Record:
        """Return a match's record, read from its file. Raises `BadRecord` if this fails."""
        return Record.parse(self.read_line(row).decode("utf-8", "replace"))

    def read_line(self, row: Row) -> bytes:
        """Return a match's line from its file. Raises `BadRecord` if the file can no longer be read."""
        try:
            path = self._files[row.file].lines.path
            if not is_compressed(path):
                with open_content(path) as file:
                    return _read_bytes(file, row)
            with self._reading:
                if self._unpacked is None or self._unpacked[0] != path:
                    self._unpacked = path, open_content(path)
                return _read_bytes(self._unpacked[1], row)
        except (KeyError, OSError) as error:
            raise BadRecord(f"{row.file} can no longer be read ({error}). Restore it, then reload the page.") from error

    def file_path(self, row: Row) -> Path:
        """Return the file of a match."""
        return self._files[row.file].lines.path

    def find_by_id(self, match_id: str) -> Row | None:
        """Return the row of the first match with this id, or None."""
        if self._by_id is None:
            self._by_id = {row.id: row for row in reversed(self.rows)}
        return self._by_id.get(match_id)

    def find_same_deal(self, row: Row) -> list[Row]:
        """Return the other matches with the same game and seed."""
        if self._by_deal is None:
            deals = defaultdict(list)
            for other in self.rows:
                deals[other.lineup.game, other.seed].append(other)
            self._by_deal = dict(deals)
        return [other for other in self._by_deal.get((row.lineup.game, row.seed), []) if other is not row]

    def long_threshold(self, game: str) -> int:
        """Return the minimum number of replies for a match to be among the longest tenth of its game."""
        if self._long is None:
            lengths = defaultdict(list)
            for row in self.rows:
                lengths[row.lineup.game].append(row.replies)
            self._long = {name: sorted(of)[len(of) * 9 // 10] for name, of in lengths.items()}
        return self._long.get(game, 0)

    def select(self, match_filter: MatchFilter) -> list[Row]:
        """Return the rows that pass a filter, in its order. The last eight results are cached."""
        rows = self._selected.get(match_filter)
        if rows is None:
            rows = match_filter.select(self.rows, self.long_threshold, self.search_replies)
            self._selected = dict([*self._selected.items()][-7:]) | {match_filter: rows}
        return rows

    def search_replies(self, rows: list[Row], text: str, readings: Sequence[str]) -> list[Row]:
        """Return the rows with a reply that contains a text, in order.

        Only replies with these readings are searched, or all replies if `readings` is empty. Raises `BadRecord` if a
        file can no longer be read."""
        by_file: defaultdict[str, list[Row]] = defaultdict(list)
        for row in rows:
            by_file[row.file].append(row)
        found = {
            id(row)
            for name, of_file in by_file.items()
            for row in search_rows(of_file, self._files[name].lines.path, text, readings)
        }
        return [row for row in rows if id(row) in found]

    def count_matches(self) -> tuple[Counter[str], Counter[str]]:
        """Return the number of matches per game and per player."""
        games: Counter[str] = Counter()
        players: Counter[str] = Counter()
        for lineup, number in Counter(row.lineup for row in self.rows).items():
            games[lineup.game] += number
            for player in set(lineup.players):
                players[player] += number
        return games, players

    def _find_paths(self) -> tuple[dict[str, Path], dict[str, str]]:
        """Return the files to read, by name, and the skipped files, each with the reason."""
        if self._directory.is_file():
            return {self._directory.name: self._directory}, {}
        found = (path for ending in ("*.jsonl", "*.jsonl.gz") for path in self._directory.rglob(ending))
        files = sorted((path for path in found if path.is_file() and not is_data_file(path)), key=plain_path)
        # rglob does not enter linked folders, so only a file itself can be a link
        linked = [path for path in files if path.is_symlink() and escapes_directory(path, self._directory)]
        names = {path: path.relative_to(self._directory).as_posix() for path in files}
        reason = "skipped: a symbolic link that leaves the viewed folder"
        return {names[path]: path for path in files if path not in linked}, {names[path]: reason for path in linked}

    def _collect(self) -> None:
        files = [self._files[name] for name in sorted(self._files)]
        self.rows = [row for file in files for row in (*file.rows, file.last) if isinstance(row, Row)]
        self.problems = [
            problem
            for file in files
            for problem in (*file.problems, file.last, file.unreadable if file.foreign is None else None)
            if isinstance(problem, Problem)
        ]
        self.foreign = {file.reader.file: file.foreign for file in files if file.foreign is not None} | self._linked
        self._by_id = self._by_deal = self._long = self._unpacked = None
        self._selected = {}


def _read_bytes(file: BufferedReader, row: Row) -> bytes:
    file.seek(row.offset)
    return file.read(row.size)


def _read_new_lines(file: _IndexedFile) -> bool:
    """Read the lines added to a file. Returns whether anything changed."""
    lines = file.lines
    if renewed := lines.check_replaced():
        file.rows, file.problems, file.foreign, file.last, file.unreadable = [], [], None, None, None
    elif (
        (file.foreign is not None and lines.number >= _SNIFF)
        or (file.unreadable and is_compressed(lines.path))
        or len(file.problems) >= MOST_INVALID
    ):
        return False
    before = lines.number, lines.rest, file.unreadable
    file.reader.changed, file.unreadable = lines.get_mtime(), None
    try:
        for line in lines.lines():
            item = _parse_line(file.reader, line)
            if isinstance(item, Row):
                file.rows.append(item)
            else:
                file.problems.append(item)
            if len(file.problems) >= MOST_INVALID or (line.number >= _SNIFF and not file.rows):
                break
    except BadRecord as error:
        file.unreadable = Problem(file.reader.file, str(error))
    if (lines.number, lines.rest, file.unreadable) == before:
        return renewed
    file.last = _parse_line(file.reader, lines.rest) if lines.rest else None
    if file.rows or isinstance(file.last, Row):
        file.foreign = None
    elif first := next(iter(file.problems), file.last or file.unreadable):
        file.foreign, file.problems, file.last = file.foreign or first.what, [], None
    return True


def _parse_line(reader: RowReader, line: GrowingLine) -> Row | Problem:
    try:
        return reader.read_row(line.text, line.number, line.start)
    except BadRecord as error:
        return Problem(f"{reader.file}:{line.number}", str(error))
