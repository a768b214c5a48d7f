"""Playing recorded events again, one node at a time: what every kind of match does to load a record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gymposium.errors import BadRecord, IllegalMove, WrongSeat
from gymposium.games.protocol import CHANCE, Event

CHANCE_NODE = (CHANCE,)
"""Who is to move where chance is."""


def replay(
    events: Sequence[Event],
    waiting: Callable[[], tuple[int, ...]],
    chance: Callable[[int, str], None],
    play: Callable[[Mapping[int, str]], None],
) -> None:
    """Play the events in order. `waiting` says who is to move, `CHANCE_NODE` included; `chance` takes the number of
    an event and its outcome, `play` the moves of all who are to move at once.

    Raises `BadRecord` with the number of the first event that does not follow from the rules."""
    pending: dict[int, str] = {}
    for number, (seat, move) in enumerate(events):
        seats = waiting()
        if (seats == CHANCE_NODE) != (seat == CHANCE):
            turn = "chance's turn" if seats == CHANCE_NODE else "not chance's turn"
            raise BadRecord(f"Event {number} ({move!r}) is of seat {seat}, but it is {turn}.")
        if seat == CHANCE:
            chance(number, move)
            continue
        if not seats:
            raise BadRecord(f"Event {number} ({move!r}) comes after the end of the match.")
        due = seats[len(pending)]
        if seat != due:
            raise BadRecord(f"Event {number} ({move!r}) is of seat {seat}, but it is seat {due}'s turn.")
        pending[seat] = move
        if len(pending) == len(seats):
            try:
                play(pending)
            except (IllegalMove, WrongSeat) as error:
                raise BadRecord(f"Event {number}: {error}") from error
            pending = {}
    if pending:
        raise BadRecord(f"The record ends in the middle of a joint move: only seats {sorted(pending)} moved.")
