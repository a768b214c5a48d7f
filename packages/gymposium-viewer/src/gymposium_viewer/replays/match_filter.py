"""Filters for the list of matches.

Each match has a set of facts, which are texts. A filter is a set of facts that must all hold. The server and an
exported list's script compare the same facts, so both select the same matches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from gymposium.errors import BadOption
from gymposium.match.ending import FAILURES
from gymposium.replies.reading import KINDS
from gymposium.util.visible import visible
from gymposium_viewer.replays.rows import Row, RowLineup, RowResult

ENDINGS = {
    "won": "won",
    "lost": "lost",
    "drawn": "drawn",
    "forfeit": "ended by a forfeit",
    **{kind.replace(" ", "-"): kind for kind in FAILURES},
    "broke-off": "broke off",
}
"""Endings of a match, with their labels. If a player is selected, all except `broke-off` refer to that player."""

FAILED_REPLIES = {"failed": "any failed reply", "illegal": "illegal", "unparsable": "unparsable", "cut-off": "cut off"}
"""Kinds of failed replies, with their labels."""

ORDERS: dict[str, tuple[str, Callable[[Row], Any] | None]] = {
    "recorded": ("as recorded", None),
    "longest": ("longest first", lambda row: -row.replies),
    "shortest": ("shortest first", lambda row: row.replies),
    "tokens": ("most tokens first", lambda row: -row.tokens),
    "failures": ("most failed replies first", lambda row: -row.failures),
    "newest": ("newest files first", lambda row: (-row.changed, row.file, -row.line)),
}
"""Orders of the list, each with its label and its sort key. The key is None for file order."""

_RESULTS = {"win": "won", "loss": "lost", "draw": "drawn"}


@dataclass(frozen=True, slots=True)
class MatchFilter:
    """A filter and an order for the list of matches, as written in the address of a page."""

    game: str = ""
    player: str = ""
    ended: str = ""
    failed: str = ""
    long: str = ""
    """`yes` to select only the longest tenth of each game's matches."""
    text: str = ""
    """Text that the match id must contain."""
    said: str = ""
    """Text that a reply must contain; with `failed`, a failed reply of that kind."""
    sort: str = "recorded"

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> MatchFilter:
        """Parse a filter from a query string. Raises `BadOption` for an invalid value."""
        match_filter = cls(**{name: query[name] for name in cls.__dataclass_fields__ if query.get(name)})
        for name, allowed in (("ended", ENDINGS), ("failed", FAILED_REPLIES), ("sort", ORDERS), ("long", ("yes",))):
            value = getattr(match_filter, name)
            if value and value not in allowed:
                raise BadOption(f"Invalid {name}={value}. Use one of {', '.join(allowed)}.")
        return match_filter

    def query(self, **more: object) -> str:
        """Return the filter as a query string: `?game=tic_tac_toe&ended=lost`. Empty for the default filter."""
        fields = {name: value for name, value in asdict(self).items() if value != getattr(MatchFilter(), name)} | more
        return f"?{urlencode(fields)}" if fields else ""

    @property
    def facts(self) -> frozenset[str]:
        """The facts that must hold for a match."""
        ended = f"{self.ended} by {self.player}" if self.ended and self.player else self.ended
        facts = {f"game {self.game}" * bool(self.game), f"player {self.player}" * bool(self.player)}
        return frozenset((facts | {ended, self.failed, "long" * bool(self.long)}) - {""})

    @property
    def readings(self) -> Sequence[str]:
        """Readings of the replies to search for `said`; empty for all replies."""
        kinds = [kind for kind in FAILED_REPLIES.values() if kind in KINDS]
        return kinds if self.failed == "failed" else [FAILED_REPLIES[self.failed]] if self.failed else []

    def select(
        self,
        rows: list[Row],
        long_threshold: Callable[[str], int],
        search: Callable[[list[Row], str, Sequence[str]], list[Row]],
    ) -> list[Row]:
        """Return the rows that pass the filter, in its order. The callables are methods of `MatchIndex`."""
        facts, text = self.facts, self.text
        if facts:
            rows = [row for row in rows if facts <= list_facts(row, long_threshold)]
        if text:
            rows = [row for row in rows if text in row.id]
        if self.said:
            rows = search(rows, self.said, self.readings)
        key = ORDERS[self.sort][1]
        return rows if key is None else sorted(rows, key=key)


def list_facts(row: Row, long_threshold: Callable[[str], int]) -> frozenset[str]:
    """Return the facts that hold for a match."""
    is_long = row.replies >= max(long_threshold(row.lineup.game), 1)
    return _compute_facts(row.lineup, row.result, row.illegal > 0, row.unparsable > 0, row.cut_off > 0, is_long)


@lru_cache(maxsize=100_000)
def _compute_facts(
    lineup: RowLineup, result: RowResult, illegal: bool, unparsable: bool, cut_off: bool, long: bool
) -> frozenset[str]:
    # names are written as pages show them, since a form sends them back in that spelling
    players = [visible(player) for player in lineup.players]
    seats = range(len(players))
    seats_by_way: dict[str, list[int]] = {
        word: [seat for seat in seats if result.results[seat : seat + 1] == (name,)] for name, word in _RESULTS.items()
    }
    for failure in result.ending.failures:
        seats_by_way.setdefault(failure.kind.replace(" ", "-"), []).append(failure.seat or 0)
    seats_by_way["forfeit"] = [failure.seat or 0 for failure in result.ending.failures[:1]]
    facts = {f"game {visible(lineup.game)}", *(f"player {player}" for player in players)}
    for way, concerned in seats_by_way.items():
        if concerned:
            facts |= {way, *(f"{way} by {players[seat]}" for seat in concerned if seat in seats)}
    if result.ending.broke_off:
        facts |= {"broke-off", *(f"broke-off by {player}" for player in players)}
    failed = illegal or unparsable or cut_off
    words = {"illegal": illegal, "unparsable": unparsable, "cut-off": cut_off, "failed": failed, "long": long}
    return frozenset(facts | {word for word, holds in words.items() if holds})
