"""Walking along a match: one position for each decision, made by loading ever longer pieces of the record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gymposium.games.protocol import CHANCE, Event, Game, Match


def positions(game: Game, events: Sequence[Event]) -> Iterator[Match]:
    """The match at each decision of a record, and at its end: chance drawn, the next seats to move.

    Raises `BadRecord` where the events do not follow from the rules, or end before a chance outcome."""
    end = 0
    while True:
        while end < len(events) and events[end].seat == CHANCE:
            end += 1
        match = game.load(events[:end])
        yield match
        if end == len(events):
            return
        end += max(1, len(match.to_move()))
