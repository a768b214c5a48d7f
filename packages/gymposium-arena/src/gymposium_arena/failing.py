"""Collect the decisions in a board's matches, with failures, to rate play separately from reliability."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from gymposium.analysis.review import MatchReview, ReviewCache
from gymposium.games.protocol import Match
from gymposium.games.registry import needs_isolation
from gymposium.records import Record, replay_choices
from gymposium.util.isolated import call_isolated
from gymposium_arena.outcomes import MatchOutcome, read_outcomes
from gymposium_arena.ratings.completed import Decisions

Features = tuple[float, float, float, float, float]
"""Turn, log length of the observation, number of legal moves, seat, and the position's value (0 if unknown)."""


@dataclass(slots=True)
class GameDecisions:
    """The decisions in one game's matches."""

    _reviews: ReviewCache
    reviewed: bool = True
    """Whether every match has a review with the values of its positions."""
    _rows: dict[tuple[tuple[str, ...], str], list[tuple[int, Features, bool]]] = field(default_factory=dict)
    """The seat, features and failure of each decision, by the match's players and outcome digest."""

    def add(self, matches: Path, record: Record) -> None:
        """Add a finished match from a match file. Raises `GymposiumError` if it cannot be replayed."""
        _, review = self._reviews.find(matches, record)
        self.reviewed &= review is not None
        for outcome in read_outcomes([record]):
            how = (
                call_isolated(_extract_decisions, record, review)
                if needs_isolation(record.game)
                else _extract_decisions(record, review)
            )
            self._rows[outcome.players, outcome.digest] = how

    def count_decisions(self, outcomes: Sequence[MatchOutcome], players: Sequence[str]) -> Decisions:
        """Return the decisions in these outcomes as arrays. Player indices follow `players`."""
        deals = {group: number for number, group in enumerate(sorted({one.group for one in outcomes}))}
        index = {player: number for number, player in enumerate(players)}
        known = 5 if self.reviewed else 4
        rows = [
            (match, deals[one.group], index[one.players[seat]], features[:known], failed)
            for match, one in enumerate(outcomes)
            for seat, features, failed in self._rows[one.players, one.digest]
        ]
        match, deal, player, features, failed = zip(*rows, strict=True)
        return Decisions(np.array(match), np.array(deal), np.array(player), np.array(features), np.array(failed))


def _extract_decisions(record: Record, review: MatchReview | None) -> list[tuple[int, Features, bool]]:
    worth: Mapping[tuple[int, int], float] = (
        {} if review is None else {(one.step, one.seat): one.before for one in review.decisions}
    )
    styles = [prompt["style"] for prompt in record.prompts]
    turns = [0] * len(record.players)

    def look(match: Match) -> dict[int, tuple[float, float]]:
        return {
            seat: (math.log1p(len(match.observe(seat, styles[seat]).text)), float(len(match.legal_moves(seat) or ())))
            for seat in match.to_move()
        }

    found = []
    for step, decision, seat, failed in replay_choices(record, look):
        length, moves = decision.seen[seat]
        features = (float(turns[seat]), length, moves, float(seat), worth.get((step, seat), 0.0))
        turns[seat] += 1
        found.append((seat, features, failed))
    return found
