"""All matches that are recorded below a directory, and where each line stands. It follows files as they grow."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from gymposium.errors import BadRecord
from gymposium.records import Problem, Record
from gymposium.runs.growing import Growing, GrowingLine
from gymposium.runs.links import leads_out
from gymposium.viewer.replays.rows import Row, RowReader
from gymposium.viewer.replays.wanted import MatchFilter

_SNIFF = 20
"""Lines at the beginning of a file; where none of them is a match, the file is of another kind."""


@dataclass(slots=True)
class _File:
    """One file, as far as it was read."""

    lines: Growing
    reader: RowReader
    rows: list[Row] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    foreign: str | None = None
    """Why it is no record file at all."""
    last: Row | Problem | None = None
    """The line that has no end yet: whole perhaps, half-written, or being written."""


class Index:
    """The matches below a directory, or of one file."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._files: dict[str, _File] = {}
        self._linked: dict[str, str] = {}
        self._lock = Lock()
        self.rows: list[Row] = []
        """In order of their files' paths, then of their lines."""
        self.problems: list[Problem] = []
        """Lines of record files that are no matches."""
        self.foreign: dict[str, str] = {}
        """Files that hold no matches, or are not read, with the reason."""
        self._by_id: dict[str, Row] | None = None
        self._by_deal: dict[tuple[str, int], list[Row]] | None = None
        self._long: dict[str, int] | None = None
        self._selected: dict[MatchFilter, list[Row]] = {}

    def refresh(self) -> None:
        """Read what was added since the last time."""
        with self._lock:
            found = self._paths()
            linked = self._outside(found)
            found = {name: path for name, path in found.items() if name not in linked}
            changed = found.keys() != self._files.keys() or linked != self._linked
            self._linked = linked
            for name in self._files.keys() - found.keys():
                del self._files[name]
            for name, path in found.items():
                if name not in self._files:
                    self._files[name] = _File(Growing(path), RowReader(name))
                changed |= _read_on(self._files[name])
            if changed:
                self._gather()

    def row(self, file: str, line: int) -> Row | None:
        """The match of that line."""
        known = self._files.get(file)
        if known is None:
            return None
        if isinstance(known.last, Row) and known.last.line == line:
            return known.last
        at = bisect_left(known.rows, line, key=lambda row: row.line)
        return known.rows[at] if at < len(known.rows) and known.rows[at].line == line else None

    def record(self, row: Row) -> Record:
        """The whole record, read from its file. Raises `BadRecord`."""
        return Record.parse(self.line(row).decode("utf-8", "replace"))

    def line(self, row: Row) -> bytes:
        """The line as it stands in the file. Raises `BadRecord` where the file is gone."""
        try:
            with open(self._files[row.file].lines.path, "rb") as file:
                file.seek(row.offset)
                return file.read(row.size)
        except (KeyError, OSError) as error:
            raise BadRecord(f"{row.file} cannot be read any more ({error}).") from error

    def by_id(self, match_id: str) -> Row | None:
        """The first match with this id."""
        if self._by_id is None:
            self._by_id = {row.id: row for row in reversed(self.rows)}
        return self._by_id.get(match_id)

    def same_deal(self, row: Row) -> list[Row]:
        """The other matches of the same game that began from the same seed."""
        if self._by_deal is None:
            deals = defaultdict(list)
            for one in self.rows:
                deals[one.lineup.game, one.seed].append(one)
            self._by_deal = dict(deals)
        return [one for one in self._by_deal.get((row.lineup.game, row.seed), []) if one is not row]

    def long(self, game: str) -> int:
        """So many replies, or more, have the longest tenth of this game's matches."""
        if self._long is None:
            lengths = defaultdict(list)
            for row in self.rows:
                lengths[row.lineup.game].append(row.replies)
            self._long = {name: sorted(of)[len(of) * 9 // 10] for name, of in lengths.items()}
        return self._long.get(game, 0)

    def select(self, wanted: MatchFilter) -> list[Row]:
        """The rows that are wanted. The last answers are kept: who steps through a list asks for it again and again."""
        found = self._selected.get(wanted)
        if found is None:
            found = wanted.select(self.rows, self.long)
            self._selected = dict([*self._selected.items()][-7:]) | {wanted: found}
        return found

    def counts(self) -> tuple[Counter[str], Counter[str]]:
        """The games and the players, each with its number of matches."""
        lineups = Counter(row.lineup for row in self.rows)
        games: Counter[str] = Counter()
        players: Counter[str] = Counter()
        for lineup, number in lineups.items():
            games[lineup.game] += number
            for player in set(lineup.players):
                players[player] += number
        return games, players

    def _paths(self) -> dict[str, Path]:
        if self._directory.is_file():
            return {self._directory.name: self._directory}
        found = sorted(path for path in self._directory.rglob("*.jsonl") if path.is_file())
        return {path.relative_to(self._directory).as_posix(): path for path in found}

    def _outside(self, found: dict[str, Path]) -> dict[str, str]:
        """Those of the files that are not read, with the reason."""
        if self._directory.is_file():
            return {}
        # rglob goes into no linked folder, so only the file itself can be a link
        linked = [name for name, path in found.items() if path.is_symlink() and leads_out(path, self._directory)]
        return dict.fromkeys(
            linked, "is a symbolic link that leads out of the directory that is viewed: it is not read"
        )

    def _gather(self) -> None:
        files = [self._files[name] for name in sorted(self._files)]
        self.rows = [row for file in files for row in (*file.rows, file.last) if isinstance(row, Row)]
        self.problems = [
            problem for file in files for problem in (*file.problems, file.last) if isinstance(problem, Problem)
        ]
        self.foreign = {file.reader.file: file.foreign for file in files if file.foreign is not None} | self._linked
        self._by_id = self._by_deal = self._long = None
        self._selected = {}


def _read_on(file: _File) -> bool:
    """Whether there was anything new."""
    lines = file.lines
    if renewed := lines.renewed():
        file.rows, file.problems, file.foreign, file.last = [], [], None, None
    elif file.foreign is not None and lines.number >= _SNIFF:
        return False
    before = lines.number, lines.rest
    for line in lines.lines():
        item = _item(file.reader, line)
        if isinstance(item, Row):
            file.rows.append(item)
        else:
            file.problems.append(item)
        if line.number >= _SNIFF and not file.rows:
            break
    if (lines.number, lines.rest) == before:
        return renewed
    file.last = _item(file.reader, lines.rest) if lines.rest else None
    if file.rows or isinstance(file.last, Row):
        file.foreign = None
    elif first := next(iter(file.problems), file.last):
        file.foreign, file.problems, file.last = file.foreign or first.what, [], None
    return True


def _item(reader: RowReader, line: GrowingLine) -> Row | Problem:
    try:
        return reader.row(line.text, line.number, line.start)
    except BadRecord as error:
        return Problem(f"{reader.file}:{line.number}", str(error))
