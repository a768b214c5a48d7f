"""Rows of the list of matches, read from record lines without parsing them in full.

A line written by `gymposium.records` is split at its keys, and equal parts of lines are parsed only once. This is safe
because JSON escapes quotation marks in text, so no reply looks like a key. Other lines are parsed in full.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from gymposium.errors import BadRecord
from gymposium.match.ending import Ending
from gymposium.records import FORMAT, Record
from gymposium.util.strict_json import parse_strict_json

_BEGIN, _END = b'{"id":"', f',"format":"{FORMAT}"}}'.encode()
_READING = b'"reading":"'
_TOKENS = b'"tokens":['
_WRITTEN = re.compile(rb'"tokens":\[(?:\d+|null),(\d{1,16})\]')
_FAILED = (b'"reading":"illegal"', b'"reading":"unparsable"', b'"reading":"cut off"')


@dataclass(frozen=True, slots=True, eq=False)
class RowLineup:
    """A match's game and players. Rows of a file with the same values share one object."""

    game: str
    players: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class RowResult:
    """A match's result. Rows of a file with the same result share one object."""

    returns: tuple[float, ...]
    results: tuple[str, ...]
    ending: Ending


@dataclass(slots=True)
class Row:
    """A match as shown in the list, and the position of its line."""

    file: str
    """Path of the file below the viewed folder."""
    line: int
    """Line number, counted from 1."""
    offset: int
    """Byte offset of the line in the file."""
    size: int
    """Number of bytes in the line."""
    id: str
    seed: int
    lineup: RowLineup
    result: RowResult
    replies: int
    illegal: int = 0
    unparsable: int = 0
    cut_off: int = 0
    tokens: int = 0
    """Total number of tokens generated for replies, if players report them."""
    changed: float = 0.0
    """Modification time of the file when the line was read, in Unix seconds."""

    @property
    def failures(self) -> int:
        """Number of replies that were not legal moves."""
        return self.illegal + self.unparsable + self.cut_off

    @property
    def date(self) -> str:
        """The date of the file's last modification, in UTC: `2026-11-27`."""
        return datetime.fromtimestamp(self.changed, UTC).date().isoformat()

    @property
    def path(self) -> str:
        """Path of the match's page."""
        return f"matches/{self.file}/{self.line}.html"


@dataclass(slots=True)
class RowReader:
    """A reader for the rows of one file."""

    file: str
    changed: float = 0.0
    """Modification time of the file, in Unix seconds."""
    _lineups: dict[bytes, RowLineup] = field(default_factory=dict)
    _results: dict[bytes, RowResult] = field(default_factory=dict)

    def read_row(self, line: bytes, number: int, offset: int) -> Row:
        """Return the row of a line. Raises `BadRecord` with the reason if the line is not a record."""
        row = self._read_by_keys(line, number, offset) or self._parse_record(line, number, offset)
        row.changed = self.changed
        return row

    def _read_by_keys(self, line: bytes, number: int, offset: int) -> Row | None:
        """Return the row of a line by splitting it at its keys, or None if it does not have the record writer's
        format."""
        game = line.find(b'","game":"')
        seed = line.find(b'],"seed":', game)
        after = line.find(b',"player_seed":', seed)
        returns = line.rfind(b'],"returns":[')
        prompts = line.rfind(b',"prompts":[')
        complete = line.startswith(_BEGIN) and line.rstrip().endswith(_END)
        if not (complete and 0 < game < seed < after < returns < prompts):
            return None
        try:
            name, head, tail = line[len(_BEGIN) : game], line[game + 2 : seed + 1], line[returns + 2 : prompts]
            if head not in self._lineups:
                data = parse_strict_json(f"{{{head.decode()}}}")
                self._lineups[head] = _make_lineup(data["game"], data["players"])
            if tail not in self._results:
                data = parse_strict_json(f"{{{tail.decode()}}}")
                self._results[tail] = _make_result(data["returns"], data["results"], Ending.parse(data["ending"]))
            row = Row(
                self.file,
                number,
                offset,
                len(line),
                json.loads(b'"%b"' % name) if b"\\" in name else name.decode("ascii"),
                int(line[seed + 9 : after]),
                self._lineups[head],
                self._results[tail],
                line.count(_READING),
            )
            if _TOKENS in line:
                row.tokens = sum(int(written[1]) for written in _WRITTEN.finditer(line, after, returns))
        except (KeyError, TypeError, ValueError):
            return None
        if line.count(b'"reading":"move"') != row.replies:
            row.illegal, row.unparsable, row.cut_off = map(line.count, _FAILED)
        return row

    def _parse_record(self, line: bytes, number: int, offset: int) -> Row:
        record = Record.parse(line.decode("utf-8", "replace"))
        readings = Counter(turn["reading"] for turn in record.turns)
        return Row(
            self.file,
            number,
            offset,
            len(line),
            record.id,
            record.seed,
            _make_lineup(record.game, record.players),
            _make_result(record.returns, record.results, record.ending),
            len(record.turns),
            readings["illegal"],
            readings["unparsable"],
            readings["cut off"],
            sum(turn.get("tokens", (0, 0))[1] or 0 for turn in record.turns),
        )


def _make_lineup(game: Any, players: Any) -> RowLineup:
    if not all(isinstance(text, str) for text in (game, *players)):
        raise BadRecord("the game and the players must be text")
    return RowLineup(game, tuple(players))


def _make_result(returns: Any, results: Any, ending: Ending) -> RowResult:
    return RowResult(tuple(map(float, returns)), tuple(map(str, results)), ending)
