"""Which games are small enough."""

from __future__ import annotations

from gymposium.errors import GymposiumError
from gymposium.games.protocol import Game

MAX_POSITIONS = 20_000
"""A larger game is refused: its traversal takes minutes, a language model's answers in it hours."""

MOST_POSITIONS = 400_000
"""Of minimax, for the player `exact`: more would take a minute, and gigabytes, before the first move."""

DEEPEST = 300
"""Moves of a match, at most: a traversal goes down one line at a time, by recursion."""


class TooLarge(GymposiumError):
    """The game cannot be traversed: it has too many positions, or is of a kind that is not traversed at all."""


class Room:
    """How far a traversal that remembers positions may go: so many of them, and no line that is too long or comes back
    to where it was."""

    def __init__(self, game: Game, most: int) -> None:
        self._game, self._most = game, most
        self._line: set[tuple[str, int]] = set()

    def enter(self, position: tuple[str, int], remembered: int) -> None:
        """Go on from a position, with so many remembered. Raises `TooLarge` where that is too far."""
        if position in self._line:
            raise TooLarge(f"{self._game.name}: its positions come again within a match.")
        if len(self._line) >= DEEPEST:
            raise TooLarge(f"{self._game.name} has matches of more than {DEEPEST} moves.")
        if remembered >= self._most:
            raise TooLarge(f"{self._game.name} has more than {self._most} positions.")
        self._line.add(position)

    def leave(self, position: tuple[str, int]) -> None:
        """Go back to where it was entered from."""
        self._line.remove(position)
