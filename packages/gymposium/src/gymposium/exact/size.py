"""Which games are small enough."""

from __future__ import annotations

from gymposium.errors import GymposiumError

MAX_POSITIONS = 20_000
"""A larger game is refused: its traversal takes minutes, a language model's answers in it hours."""


class TooLarge(GymposiumError):
    """The game cannot be traversed: it has too many positions, or is of a kind that is not traversed at all."""
