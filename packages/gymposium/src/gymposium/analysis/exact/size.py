"""Size limits for traversed games."""

from __future__ import annotations

from gymposium.errors import GymposiumError
from gymposium.games.protocol import Game

MOST_POSITIONS = 400_000
"""Maximum number of positions in a traversed game.

A larger game would take minutes and gigabytes. For comparison, liar's dice with one die per player has 294,883."""

MOST_UNASKED = 20_000
"""Maximum number of positions in a traversal that the user did not request, as for a board or a training run.

It takes about a second."""

DEEPEST = 300
"""Maximum number of moves per match, because a traversal is recursive."""


class TooLarge(GymposiumError):
    """A game that cannot be traversed: too large, or of an unsupported kind."""


class TraversalGuard:
    """A guard for depth-first traversals: it limits positions and depth, and rejects cycles."""

    def __init__(self, game: Game, most: int) -> None:
        self._game, self._most = game, most
        self._line: set[tuple[str, int]] = set()

    def enter(self, position: tuple[str, int], remembered: int) -> None:
        """Descend into a position.

        `remembered` is the number of positions solved so far. Raises `TooLarge` beyond a limit."""
        if position in self._line:
            raise TooLarge(f"{self._game.name} cannot be solved, because positions repeat within a match.")
        if len(self._line) >= DEEPEST:
            raise TooLarge(
                f"{self._game.name} has matches of more than {DEEPEST} moves, the limit for exact solutions."
            )
        if remembered >= self._most:
            raise TooLarge(f"{self._game.name} has more than {self._most:,} positions, the limit for exact solutions.")
        self._line.add(position)

    def leave(self, position: tuple[str, int]) -> None:
        """Leave a position."""
        self._line.remove(position)
