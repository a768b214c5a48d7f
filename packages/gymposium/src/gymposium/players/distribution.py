"""How likely a player plays each legal move, as it says itself."""

from __future__ import annotations

from dataclasses import dataclass

EXACT_FROM = 0.999
"""A legal mass from which the odds of the legal moves alone may be called the player's own."""


@dataclass(frozen=True, slots=True)
class MoveDistribution:
    """How likely a player plays each legal move at one ask."""

    moves: tuple[str, ...]
    """The legal moves, in the game's order."""
    probabilities: tuple[float, ...]
    """Of each move, given that a legal one is played: they add up to 1. All are 0 where `legal_mass` is 0 and no legal
    move was seen or can be: a greedy reply that is none, or samples without one."""
    legal_mass: float
    """The share of replies that play a legal move; the rest is what a forfeit or a retry is made of."""
    samples: int | None
    """The replies that an estimate was counted from; None where it was computed from log-probabilities."""

    @property
    def exact(self) -> bool:
        """Whether these are the odds of the player as it plays: computed, and with next to nothing beside the canonical
        replies of legal moves (a legal mass of 0.999 or more)."""
        return self.samples is None and self.legal_mass >= EXACT_FROM
