"""Through a recorded match decision by decision: who was asked, what was replied, and what came of it.

The events say what was moved, the replies stand beside them; which replies belong to which decision follows from the
rules of play. What shows matches to people rests on this.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gymposium.errors import BadRecord
from gymposium.games.protocol import CHANCE, Match
from gymposium.games.registry import load_named_game
from gymposium.records.record import Record


@dataclass(slots=True)
class Decision:
    """Where a match stands when seats are to move, or at its end."""

    chance: list[str]
    """What chance did since the decision before."""
    seats: tuple[int, ...]
    """Who is to move; () at the end."""
    moves: dict[int, str] = field(default_factory=dict)
    """What each of them moved; {} where the match ended or broke off before."""
    replies: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    """What each of them had replied, in the form of `Record.turns`: the last reply decided, those before were not
    accepted. Nothing stands here of a seat that gave no reply."""
    opening: bool = False
    """Whether the moves were drawn as the match's opening, so that nobody was asked."""


def walk(record: Record) -> Iterator[tuple[Decision, Match]]:
    """Every decision of a record, with the match as it stood; the last is its end, or where it was ended. The match is
    led on for the next one: what is wanted of it must be asked before.

    Raises `BadRecord`, `IllegalMove` or `WrongSeat` at the first thing that does not follow from the game's rules."""
    seats = load_named_game(record.game).seats
    ended = 0 if record.ending.broke_off else seats
    if len(record.players) != seats or not len(record.returns) == len(record.results) == ended:
        raise BadRecord(f"the game has {seats} seats, the record other numbers of players, returns or results")
    named = [failure.seat or 0 for failure in record.ending.failures] + [turn["seat"] for turn in record.turns]
    strange = [seat for seat in named if seat >= seats]
    if strange or len(record.prompts) != seats or len(record.reports) not in (0, seats):
        raise BadRecord(f"the game has {seats} seats, the record replies, prompts or reports of others")
    replies, at = _Replies(record), 0
    for number, (match, end) in enumerate(_positions(record)):
        chance = [event.move for event in record.events[at:end]]
        movers = match.to_move()
        moves = dict(record.events[end : end + len(movers)])
        at = end + len(moves)
        decision = Decision(chance, movers, moves, opening=bool(moves) and number < record.opening)
        if not decision.opening:
            take = replies.accepted if moves else replies.left  # what all had replied when the match was ended
            decision.replies = {seat: given for seat in movers if (given := take(seat))}
        yield decision, match


def _positions(record: Record) -> Iterator[tuple[Match, int]]:
    """The match at each decision and at its end, with the number of events before. Chance is drawn from
    the seed while that agrees with the record (one pass), else loaded from the record each time."""
    game, events, at = load_named_game(record.game), record.events, 0
    match = game.new(record.seed)
    drawn = True
    while True:
        start = at
        while at < len(events) and events[at].seat == CHANCE:
            at += 1
        drawn = drawn and match.events[start:] == events[start:at]
        if not drawn:
            match = game.load(events[:at])
        yield match, at
        movers = match.to_move()
        moves = events[at : at + len(movers)]
        if not moves:
            if at < len(events):
                raise BadRecord(f"event {at} ({events[at].move!r}) comes after the end")
            return
        at += len(moves)
        if drawn:
            match.apply({event.seat: event.move for event in moves})


class _Replies:
    """A record's replies, handed out decision by decision."""

    def __init__(self, record: Record) -> None:
        self._any_counts = record.on_illegal == "random"
        self._waiting: dict[int, deque[dict[str, Any]]] = defaultdict(deque)
        for turn in record.turns:
            self._waiting[turn["seat"]].append(turn)

    def accepted(self, seat: int) -> list[dict[str, Any]]:
        """The replies up to the one that a move came from."""
        taken: list[dict[str, Any]] = []
        while waiting := self._waiting[seat]:
            taken.append(waiting.popleft())
            if self._any_counts or taken[-1]["reading"] == "move":
                break
        return taken

    def left(self, seat: int) -> list[dict[str, Any]]:
        return list(self._waiting[seat])
