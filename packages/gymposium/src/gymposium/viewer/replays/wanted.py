"""Which matches are listed, and in which order.

What can be asked of a match is a set of facts about it, as texts. A filter is a set of facts that must hold. So the
server and the script of an exported list select alike, and only this file says what a fact is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from gymposium.ending import FAILURES
from gymposium.errors import BadOption
from gymposium.viewer.replays.rows import Row, RowLineup, RowResult
from gymposium.visible import visible

ENDED = {
    "won": "won",
    "lost": "lost",
    "drawn": "drawn",
    "forfeit": "ended by a forfeit",
    **{kind.replace(" ", "-"): kind for kind in FAILURES},
    "broke-off": "broke off",
}
"""How a match may have ended, in words; of a player where one is given, but for those that concern no seat."""

FAILED = {"failed": "any failed reply", "illegal": "illegal", "unparsable": "unparsable", "cut-off": "cut off"}

SORTED: dict[str, tuple[str, Callable[[Row], Any] | None]] = {
    "recorded": ("as recorded", None),
    "longest": ("longest first", lambda row: -row.replies),
    "shortest": ("shortest first", lambda row: row.replies),
    "failures": ("most failed replies first", lambda row: -row.failures),
}

_RESULTS = {"win": "won", "loss": "lost", "draw": "drawn"}


@dataclass(frozen=True, slots=True)
class MatchFilter:
    """A filter and an order, as they stand in an address."""

    game: str = ""
    player: str = ""
    ended: str = ""
    failed: str = ""
    long: str = ""
    """`yes`: only the longest tenth of each game."""
    text: str = ""
    """What the match's id must hold."""
    sort: str = "recorded"

    @classmethod
    def of(cls, query: Mapping[str, str]) -> MatchFilter:
        """Raises `BadOption` for a value that no form offers."""
        wanted = cls(**{name: query[name] for name in cls.__dataclass_fields__ if query.get(name)})
        for name, allowed in (("ended", ENDED), ("failed", FAILED), ("sort", SORTED), ("long", ("yes",))):
            value = getattr(wanted, name)
            if value and value not in allowed:
                raise BadOption(f"{name}={value}: write {', '.join(allowed)}.")
        return wanted

    def query(self, **more: object) -> str:
        """The end of an address that asks for this: `?game=tic_tac_toe&ended=lost`."""
        given = {name: value for name, value in asdict(self).items() if value != getattr(MatchFilter(), name)} | more
        return f"?{urlencode(given)}" if given else ""

    @property
    def facts(self) -> frozenset[str]:
        """What must hold."""
        ended = f"{self.ended} by {self.player}" if self.ended and self.player else self.ended
        found = {f"game {self.game}" * bool(self.game), f"player {self.player}" * bool(self.player)}
        return frozenset((found | {ended, self.failed, "long" * bool(self.long)}) - {""})

    def select(self, rows: list[Row], long: Callable[[str], int]) -> list[Row]:
        """The rows that are wanted, in the order that is wanted; `long` as in `Index`."""
        facts, text = self.facts, self.text
        if facts:
            rows = [row for row in rows if facts <= facts_of(row, long)]
        if text:
            rows = [row for row in rows if text in row.id]
        key = SORTED[self.sort][1]
        return rows if key is None else sorted(rows, key=key)


def facts_of(row: Row, long: Callable[[str], int]) -> frozenset[str]:
    """What holds of a match."""
    is_long = row.replies >= max(long(row.lineup.game), 1)
    return _facts(row.lineup, row.result, row.illegal > 0, row.unparsable > 0, row.cut_off > 0, is_long)


@lru_cache(maxsize=100_000)
def _facts(
    lineup: RowLineup, result: RowResult, illegal: bool, unparsable: bool, cut_off: bool, long: bool
) -> frozenset[str]:
    # as a page shows them, so that what a form sends back is the same
    players = [visible(player) for player in lineup.players]
    seats = range(len(players))
    ways: dict[str, list[int]] = {
        word: [seat for seat in seats if result.results[seat : seat + 1] == (name,)] for name, word in _RESULTS.items()
    }
    for failure in result.ending.failures:
        ways.setdefault(failure.kind.replace(" ", "-"), []).append(failure.seat or 0)
    ways["forfeit"] = [failure.seat or 0 for failure in result.ending.failures[:1]]
    found = {f"game {visible(lineup.game)}", *(f"player {player}" for player in players)}
    for way, whose in ways.items():
        if whose:
            found |= {way, *(f"{way} by {players[seat]}" for seat in whose if seat in seats)}
    if result.ending.broke_off:
        found |= {"broke-off", *(f"broke-off by {player}" for player in players)}
    words = {"illegal": illegal, "unparsable": unparsable, "cut-off": cut_off, "long": long}
    found |= {word for word, holds in words.items() if holds}
    if illegal or unparsable or cut_off:
        found.add("failed")
    return frozenset(found)
