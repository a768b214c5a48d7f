"""Minimax values for two-seat games with alternating moves, perfect information and no chance."""

from __future__ import annotations

import random
from collections.abc import Iterator

from gymposium.analysis.exact.size import TooLarge, TraversalGuard
from gymposium.games.protocol import Game, Match


class Minimax:
    """Minimax return of one seat: it maximizes its return and the other seat minimizes it.

    Values are cached by view, for up to `most` positions."""

    def __init__(self, game: Game, seat: int, most: int, *, every: bool = False) -> None:
        """With `every`, visit every possible later position, even if the value does not need it.

        Then no later call in the match raises `TooLarge`."""
        check_solvable(game)
        self._seat, self._room, self._every = seat, TraversalGuard(game, most), every
        self._lowest, self._highest = game.utility_range
        self._values: dict[tuple[str, int], float] = {}

    def value(self, match: Match) -> float:
        """Return a position's value for the seat.

        Raises `TooLarge` if the position has too many successors to search."""
        seats = match.to_move()
        if not seats:
            return match.returns()[self._seat]
        key = (match.view(0), seats[0])
        value = self._values.get(key)
        if value is None:
            self._room.enter(key, len(self._values))
            value = self._values[key] = self._search(match, seats[0])
            self._room.leave(key)
        return value

    def _search(self, match: Match, mover: int) -> float:
        mine = mover == self._seat
        bound = self._highest if mine else self._lowest
        best: float | None = None
        for _, child in list_children(match):
            value = self.value(child)
            if best is None or (value > best) == mine:
                best = value
            if best == bound and not self._every:  # no move is better
                break
        assert best is not None, "a seat that is to move has a move"
        return best


def list_children(match: Match) -> Iterator[tuple[str, Match]]:
    """Yield each legal move with a fork of the match after that move."""
    (seat,) = match.to_move()
    for move in match.legal_moves(seat) or ():
        child = match.fork(_NEVER)
        child.apply({seat: move})
        yield move, child


_NEVER = random.Random(0)
"""Placeholder generator, never drawn from: these games have no chance."""


def check_solvable(game: Game) -> None:
    """Raise `TooLarge` if minimax does not support this kind of game."""
    spec = game.spec
    if game.seats != 2 or spec.information != "perfect" or spec.chance or spec.dynamics != "sequential":
        raise TooLarge(
            f"{game.name} cannot be solved: exact optima need two seats that alternate, perfect information and no "
            "chance."
        )
    if spec.free_text:
        raise TooLarge(f"{game.name} cannot be solved, because it takes free text. Choose a game with a list of moves.")
