"""What a person who plays is told of the moves of other seats, in the browser and at the terminal."""

from __future__ import annotations

from gymposium.games.protocol import CHANCE, Match


def moves_of_others(match: Match, seat: int, since: int) -> list[tuple[int, str]]:
    """The moves of other seats, as (seat, move), after the first `since` events; [] in a game with hidden information,
    where a seat learns of a move only what its observations say."""
    if match.game.spec.information != "perfect":
        return []
    return [(event.seat, event.move) for event in match.events[since:] if event.seat not in (seat, CHANCE)]
