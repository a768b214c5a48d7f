"""A seat's log in a match: every change of its view and its own moves, in order.

Search knows nothing else about a match. It cannot distinguish two matches with equal logs, whatever their hidden cards
and moves.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from gymposium.games.protocol import CHANCE, Match


class Item(NamedTuple):
    """A log entry: a new view of the seat, or one of its moves."""

    kind: Literal["saw", "did"]
    text: str


class ViewLog:
    """A seat's log, derived from the match's events on demand. A match without search has no cost.

    The log holds the true match, so players must never get it."""

    __slots__ = ("_end", "_items", "_match", "_seat", "_view")

    def __init__(self, match: Match, seat: int) -> None:
        self._match, self._seat = match, seat
        self._items: list[Item] = []
        self._view: Item | None = None
        self._end = 0
        """Number of events already in the log."""

    def items(self) -> list[Item]:
        """Return the log so far."""
        game, events = self._match.game, self._match.events
        if not self._items:
            self._add_view(0)
        while self._end < len(events):
            after = self._end + len(game.load(events[: self._end]).to_move())
            own = [Item("did", event.move) for event in events[self._end : after] if event.seat == self._seat]
            self._items += own
            self._add_view(after)
        return self._items

    def _add_view(self, end: int) -> None:
        """Add the view after this many events and the chance events that follow, unless it equals the last view."""
        events = self._match.events
        while end < len(events) and events[end].seat == CHANCE:
            end += 1
        view = Item("saw", self._match.game.load(events[:end]).view(self._seat))
        if view != self._view:
            self._items.append(view)
        self._view, self._end = view, end
