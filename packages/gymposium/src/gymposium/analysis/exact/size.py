"""Limits on the size of games that are traversed."""

from __future__ import annotations

from gymposium.errors import GymposiumError
from gymposium.games.protocol import Game

MOST_POSITIONS = 400_000
"""Most positions of a game that is traversed. A larger one would take minutes and gigabytes; liar's dice with one die
each has 294,883."""

MOST_UNASKED = 20_000
"""Most positions of a game that is traversed without being asked for, as for a board or a training run; they take about
a second."""

DEEPEST = 300
"""Most moves of a match, as a traversal is recursive."""


class TooLarge(GymposiumError):
    """The game cannot be traversed: it has too many positions, or is of a kind that is not traversed at all."""


class Room:
    """Guard of a depth-first traversal: limits the number of positions and the depth, and refuses cycles."""

    def __init__(self, game: Game, most: int) -> None:
        self._game, self._most = game, most
        self._line: set[tuple[str, int]] = set()

    def enter(self, position: tuple[str, int], remembered: int) -> None:
        """Descend into a position while `remembered` positions are solved. Raises `TooLarge` beyond a limit."""
        if position in self._line:
            raise TooLarge(f"{self._game.name}: positions repeat within a match.")
        if len(self._line) >= DEEPEST:
            raise TooLarge(f"{self._game.name} has matches of more than {DEEPEST} moves.")
        if remembered >= self._most:
            raise TooLarge(f"{self._game.name} has more than {self._most:,} positions.")
        self._line.add(position)

    def leave(self, position: tuple[str, int]) -> None:
        """Return from a position."""
        self._line.remove(position)
