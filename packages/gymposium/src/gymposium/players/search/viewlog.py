"""The log of one seat in a match: every change of its view and its own moves, in order.

This is all that search knows of a match. It cannot tell two matches with equal logs apart, whatever their hidden cards
and however many hidden moves were made.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from gymposium.games.protocol import CHANCE, Game, Match


class Item(NamedTuple):
    """One entry of a log: a new view of the seat, or a move that it made."""

    kind: Literal["saw", "did"]
    text: str


class ViewLog:
    """The log of one seat."""

    __slots__ = ("_view", "items")

    def __init__(self) -> None:
        self.items: list[Item] = []
        self._view: str | None = None

    def saw(self, view: str) -> None:
        """Add the view at a position, unless it is the last one."""
        if view != self._view:
            self._view = view
            self.items.append(Item("saw", view))

    def did(self, move: str) -> None:
        self.items.append(Item("did", move))


class Witness:
    """Derives one seat's log of a match from its events. It does so only on demand, so a match without search costs
    nothing. It holds the true match, so players must never hold it."""

    __slots__ = ("_end", "_log", "_match", "_seat")

    def __init__(self, match: Match, seat: int) -> None:
        self._match, self._seat = match, seat
        self._log = ViewLog()
        self._end = 0
        """Number of events in the log."""

    def log(self) -> ViewLog:
        """Return the log up to now."""
        game: Game = self._match.game
        events, seat, end = self._match.events, self._seat, self._end
        if not self._log.items:
            end = self._past_chance(0)
            self._log.saw(game.load(events[:end]).view(seat))
        while end < len(events):
            movers = len(game.load(events[:end]).to_move())
            mine = [event.move for event in events[end : end + movers] if event.seat == seat]
            end = self._past_chance(end + movers)
            for move in mine:
                self._log.did(move)
            self._log.saw(game.load(events[:end]).view(seat))
        self._end = end
        return self._log

    def _past_chance(self, end: int) -> int:
        events = self._match.events
        while end < len(events) and events[end].seat == CHANCE:
            end += 1
        return end
