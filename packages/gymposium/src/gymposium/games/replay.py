"""Replay of recorded events, for every kind of match."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gymposium.errors import BadRecord, IllegalMove, WrongSeat
from gymposium.games.protocol import CHANCE, Event

CHANCE_NODE = (CHANCE,)
"""Value of `waiting` at a chance node, instead of the seats to move."""


def replay_events(
    events: Sequence[Event],
    waiting: Callable[[], tuple[int, ...]],
    chance: Callable[[int, str], None],
    play: Callable[[Mapping[int, str]], None],
) -> None:
    """Play the events in order.

    `waiting` returns the seats to move, or `CHANCE_NODE`. `chance` is called with an event's number and outcome, and
    `play` with the moves of all seats to move. Raises `BadRecord` with the number of the first event that breaks the
    rules."""
    pending: dict[int, str] = {}
    for number, (seat, move) in enumerate(events):
        seats = waiting()
        if (seats == CHANCE_NODE) != (seat == CHANCE):
            turn = "chance's turn" if seats == CHANCE_NODE else "not chance's turn"
            raise BadRecord(f"Event {number} ({move!r}) belongs to seat {seat}, but it is {turn}.")
        if seat == CHANCE:
            chance(number, move)
            continue
        if not seats:
            raise BadRecord(f"Event {number} ({move!r}) comes after the end of the match.")
        due = seats[len(pending)]
        if seat != due:
            raise BadRecord(f"Event {number} ({move!r}) belongs to seat {seat}, but it is seat {due}'s turn.")
        pending[seat] = move
        if len(pending) == len(seats):
            try:
                play(pending)
            except (IllegalMove, WrongSeat) as error:
                raise BadRecord(f"Event {number}: {error}") from error
            pending = {}
    if pending:
        raise BadRecord(f"The record ends in the middle of a joint move. Only these seats moved: {sorted(pending)}.")
