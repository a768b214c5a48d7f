"""From a line of a record file to a row of the list, without reading all of it.

A list of 100,000 matches needs little of each, and two pieces of a line that hold most of it are the same in many
lines. So a line as `gymposium.records` writes it is cut at its keys, and what was read once from an equal piece is used
again. Inside a JSON text every quotation mark stands behind a backslash, so no reply can look like a key. Every other
line is read in full.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from gymposium.ending import Ending
from gymposium.errors import BadRecord
from gymposium.records import FORMAT, Record

_BEGIN, _END = b'{"id":"', f',"format":"{FORMAT}"}}'.encode()
_READING = b'"reading":"'
_FAILED = (b'"reading":"illegal"', b'"reading":"unparsable"', b'"reading":"cut off"')


@dataclass(frozen=True, slots=True, eq=False)
class RowLineup:
    """What was played, and by whom; one for all rows of a file that share it."""

    game: str
    players: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class RowResult:
    """What a match came to; one object for all rows of a file that share it."""

    returns: tuple[float, ...]
    results: tuple[str, ...]
    ending: Ending


@dataclass(slots=True)
class Row:
    """A match, as far as a list of matches needs it, and where its line stands."""

    file: str
    """Its path below the directory."""
    line: int
    offset: int
    size: int
    id: str
    seed: int
    lineup: RowLineup
    result: RowResult
    replies: int
    illegal: int = 0
    unparsable: int = 0
    cut_off: int = 0

    @property
    def failures(self) -> int:
        """Replies that were no legal move."""
        return self.illegal + self.unparsable + self.cut_off

    @property
    def path(self) -> str:
        """Where its page is."""
        return f"matches/{self.file}/{self.line}.html"


@dataclass(slots=True)
class RowReader:
    """Makes the rows of one file."""

    file: str
    _lineups: dict[bytes, RowLineup] = field(default_factory=dict)
    _results: dict[bytes, RowResult] = field(default_factory=dict)

    def row(self, line: bytes, number: int, offset: int) -> Row:
        """Raises `BadRecord` with what is wrong with the line."""
        return self._by_pieces(line, number, offset) or self._in_full(line, number, offset)

    def _by_pieces(self, line: bytes, number: int, offset: int) -> Row | None:
        """None where the line is not as our own writer would have written it."""
        game = line.find(b'","game":"')
        seed = line.find(b'],"seed":', game)
        after = line.find(b',"player_seed":', seed)
        returns = line.rfind(b'],"returns":[')
        prompts = line.rfind(b',"prompts":[')
        whole = line.startswith(_BEGIN) and line.rstrip().endswith(_END)
        if not (whole and 0 < game < seed < after < returns < prompts):
            return None
        try:
            name, head, tail = line[len(_BEGIN) : game], line[game + 2 : seed + 1], line[returns + 2 : prompts]
            lineup = self._lineups.get(head)
            if lineup is None:
                lineup = self._lineups[head] = _lineup(json.loads(b"{%b}" % head))
            result = self._results.get(tail)
            if result is None:
                data = json.loads(b"{%b}" % tail)
                result = self._results[tail] = _result(data, Ending.parse(data["ending"]))
            text = json.loads(b'"%b"' % name) if b"\\" in name else name.decode("ascii")
            row = Row(
                self.file,
                number,
                offset,
                len(line),
                text,
                int(line[seed + 9 : after]),
                lineup,
                result,
                line.count(_READING),
            )
        except (KeyError, TypeError, ValueError):
            return None
        if line.count(b'"reading":"move"') != row.replies:
            row.illegal, row.unparsable, row.cut_off = map(line.count, _FAILED)
        return row

    def _in_full(self, line: bytes, number: int, offset: int) -> Row:
        record = Record.parse(line.decode("utf-8", "replace"))
        readings = Counter(turn["reading"] for turn in record.turns)
        data = {name: getattr(record, name) for name in Record.__dataclass_fields__}
        return Row(
            self.file,
            number,
            offset,
            len(line),
            record.id,
            record.seed,
            _lineup(data),
            _result(data, record.ending),
            len(record.turns),
            readings["illegal"],
            readings["unparsable"],
            readings["cut off"],
        )


def _lineup(data: dict[str, Any]) -> RowLineup:
    game, players = data["game"], tuple(data["players"])
    if not all(isinstance(text, str) for text in (game, *players)):
        raise BadRecord("the game and the players are not text")
    return RowLineup(game, players)


def _result(data: dict[str, Any], ending: Ending) -> RowResult:
    return RowResult(tuple(map(float, data["returns"])), tuple(map(str, data["results"])), ending)
