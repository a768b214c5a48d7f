"""Minimax values of games with two seats that move in turn, perfect information and no chance."""

from __future__ import annotations

import random
from collections.abc import Iterator

from gymposium.analysis.exact.size import Room, TooLarge
from gymposium.games.protocol import Game, Match


class Minimax:
    """The return of one seat if it maximizes this return and the other seat minimizes it.

    Values are kept by view, for up to `most` positions."""

    def __init__(self, game: Game, seat: int, most: int, *, every: bool = False) -> None:
        """`every`: visit every position that can follow, also where the value is known without, so that no later
        position of the match is too large."""
        check_solvable(game)
        self._seat, self._room, self._every = seat, Room(game, most), every
        self._lowest, self._highest = game.utility_range
        self._values: dict[tuple[str, int], float] = {}

    def value(self, match: Match) -> float:
        """Return the value of a position for the seat. Raises `TooLarge` if too many positions can follow."""
        seats = match.to_move()
        if not seats:
            return match.returns()[self._seat]
        key = (match.view(0), seats[0])
        value = self._values.get(key)
        if value is None:
            self._room.enter(key, len(self._values))
            value = self._values[key] = self._best(match, seats[0])
            self._room.leave(key)
        return value

    def _best(self, match: Match, mover: int) -> float:
        mine = mover == self._seat
        bound = self._highest if mine else self._lowest
        best: float | None = None
        for _, child in children(match):
            value = self.value(child)
            if best is None or (value > best) == mine:
                best = value
            if best == bound and not self._every:  # no move is better
                break
        assert best is not None, "a seat that is to move has a move"
        return best


def children(match: Match) -> Iterator[tuple[str, Match]]:
    """Yield each legal move of the seat to move, with a fork of the match in which it is played."""
    (seat,) = match.to_move()
    for move in match.legal_moves(seat) or ():
        child = match.fork(_NEVER)
        child.apply({seat: move})
        yield move, child


_NEVER = random.Random(0)
"""Generator that is never drawn from, as there is no chance."""


def check_solvable(game: Game) -> None:
    """Raise `TooLarge` if minimax does not solve games of this kind."""
    spec = game.spec
    if game.seats != 2 or spec.information != "perfect" or spec.chance or spec.dynamics != "sequential":
        raise TooLarge(f"{game.name}: exact optima need two seats in turn, nothing hidden and no chance.")
    if spec.free_text:
        raise TooLarge(f"{game.name} takes free text, so there are no moves to go through.")
