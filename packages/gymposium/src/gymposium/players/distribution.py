"""Move probabilities that a player reports."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

EXACT_FROM = 0.999
"""Minimum legal mass of exact probabilities."""


def is_distribution(odds: Sequence[float]) -> bool:
    """Return whether numbers are probabilities that add up to 1."""
    return all(0.0 <= p <= 1.0 for p in odds) and math.isclose(math.fsum(odds), 1.0, abs_tol=1e-6)


@dataclass(frozen=True, slots=True)
class MoveDistribution:
    """Probabilities of a player's legal moves at one ask."""

    moves: tuple[str, ...]
    """Legal moves, in the game's order."""
    probabilities: tuple[float, ...]
    """Probability of each move, given that the reply is legal. They add up to 1.

    All are 0 if no legal move was observed: after an illegal greedy reply, or with samples that are all illegal. Then
    `legal_mass` is 0."""
    legal_mass: float
    """Probability that a reply is a legal move. Other replies lead to a forfeit or a retry."""
    samples: int | None
    """Number of replies behind the estimate; None if it is computed from log-probabilities."""

    @property
    def exact(self) -> bool:
        """Return whether the probabilities are exact: computed, with a legal mass of at least 0.999.

        Then replies other than the legal moves' canonical texts hardly occur."""
        return self.samples is None and self.legal_mass >= EXACT_FROM

    @property
    def likeliest(self) -> tuple[str, ...]:
        """Return the moves with the highest probability. Empty if all are 0."""
        highest = max(self.probabilities, default=0.0)
        return tuple(move for move, p in zip(self.moves, self.probabilities, strict=True) if p == highest > 0.0)

    def draw(self, rng: random.Random) -> str | None:
        """Draw a move with these probabilities. Returns None if all are 0."""
        return rng.choices(self.moves, self.probabilities)[0] if any(self.probabilities) else None
