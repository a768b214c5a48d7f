"""Probabilities of a player's legal moves, as reported by the player."""

from __future__ import annotations

from dataclasses import dataclass

EXACT_FROM = 0.999
"""Minimum legal mass for treating the legal moves' probabilities as the player's."""


@dataclass(frozen=True, slots=True)
class MoveDistribution:
    """Probabilities of a player's legal moves at one ask."""

    moves: tuple[str, ...]
    """Legal moves, in the game's order."""
    probabilities: tuple[float, ...]
    """Probability of each move, given that a legal one is played. They add up to 1. All are 0 if `legal_mass` is 0 and
    no legal move was observed: after an illegal greedy reply, or with samples without a legal move."""
    legal_mass: float
    """Share of replies with a legal move. Other replies lead to a forfeit or a retry."""
    samples: int | None
    """Number of replies behind an estimate; None if computed from log-probabilities."""

    @property
    def exact(self) -> bool:
        """Return whether these are exactly the player's probabilities: computed, with a legal mass of at least 0.999.

        Then replies other than the canonical ones for legal moves hardly occur."""
        return self.samples is None and self.legal_mass >= EXACT_FROM
