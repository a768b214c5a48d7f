"""Comparison of recorded moves with a teacher's recommendations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from gymposium.players.distribution import MoveDistribution
from gymposium.players.teaching import AskTeacher
from gymposium.records import Record, recommend_in_records, replay_choices


class ComparedDecision(NamedTuple):
    """A recorded decision with a teacher's recommendation."""

    player: str
    move: str | None
    """The player's move; None after a failed reply."""
    recommended: MoveDistribution

    @property
    def agrees(self) -> bool | None:
        """Return whether the move is among the teacher's likeliest. None without a move or a recommendation."""
        likeliest = self.recommended.likeliest
        return self.move in likeliest if likeliest and self.move is not None else None


ComparedMatch = dict[tuple[int, int], ComparedDecision]
"""The decisions of a match by step and seat, as in its review."""


def compare_with_teacher(
    teacher: AskTeacher, records: Sequence[Record], advance: Callable[[], object] = lambda: None
) -> dict[str, ComparedMatch]:
    """Return each match's decisions with the teacher's recommendations, by match id. `advance` is called after each
    match. Raises `GymposiumError` if a record cannot be replayed, and any exception from the teacher."""
    seats = [(record.id, seat) for record in records for seat in range(len(record.players))]
    recommended = recommend_in_records(teacher, records, seats, advance)
    compared: dict[str, ComparedMatch] = {record.id: {} for record in records}
    for record in records:
        turns = Counter[int]()
        for step, decision, seat, failed in replay_choices(record, lambda match: None):
            label, move = recommended[record.id, seat][turns[seat]], None if failed else decision.moves[seat]
            compared[record.id][step, seat] = ComparedDecision(record.players[seat], move, label)
            turns[seat] += 1
    return compared


def compute_agreement(decisions: Sequence[ComparedDecision]) -> dict[str, float]:
    """Return the share of each player's moves that are among the teacher's likeliest. Players without a move that can
    be compared are omitted."""
    compared = [(one.player, one.agrees) for one in decisions if one.agrees is not None]
    moves = Counter(player for player, _ in compared)
    agreed = Counter(player for player, agrees in compared if agrees)
    return {player: agreed[player] / count for player, count in moves.items()}
