"""Probabilities of a player's legal moves, as the player itself reports them."""

from __future__ import annotations

from dataclasses import dataclass

EXACT_FROM = 0.999
"""Least legal mass at which the probabilities of the legal moves alone count as those of the player."""


@dataclass(frozen=True, slots=True)
class MoveDistribution:
    """Probabilities of a player's legal moves at one ask."""

    moves: tuple[str, ...]
    """Legal moves, in the game's order."""
    probabilities: tuple[float, ...]
    """Probability of each move, given that a legal one is played: they add up to 1. All are 0 if `legal_mass` is 0 and
    no legal move was observed: an illegal greedy reply, or samples without a legal move."""
    legal_mass: float
    """Share of replies that play a legal move; the other replies lead to a forfeit or a retry."""
    samples: int | None
    """Number of replies that an estimate was counted from; None if it was computed from log-probabilities."""

    @property
    def exact(self) -> bool:
        """True if these are the probabilities of the player as it plays: computed, and with a legal mass of at least
        0.999, so that replies other than the canonical ones of legal moves hardly occur."""
        return self.samples is None and self.legal_mass >= EXACT_FROM
