"""What best play of both is worth, in games of two seats in turn with nothing hidden and no chance."""

from __future__ import annotations

import random

from gymposium.exact.size import Room, TooLarge
from gymposium.games.protocol import Game, Match


class Minimax:
    """The return of one seat where both play their best: it for the most, the other for the least it can get. Positions
    are remembered by their view, up to `most` of them."""

    def __init__(self, game: Game, seat: int, most: int) -> None:
        check_solvable(game)
        self._seat, self._room = seat, Room(game, most)
        self._lowest, self._highest = game.utility_range
        self._values: dict[tuple[str, int], float] = {}

    def value(self, match: Match) -> float:
        """What the position is worth to the seat. Raises `TooLarge` where there is too much to look at."""
        seats = match.to_move()
        if not seats:
            return match.returns()[self._seat]
        key = (match.view(0), seats[0])
        found = self._values.get(key)
        if found is None:
            self._room.enter(key, len(self._values))
            found = self._values[key] = self._best(match, seats[0])
            self._room.leave(key)
        return found

    def _best(self, match: Match, mover: int) -> float:
        mine = mover == self._seat
        bound = self._highest if mine else self._lowest
        found: float | None = None
        for _, child in children(match):
            value = self.value(child)
            if found is None or (value > found) == mine:
                found = value
            if found == bound:  # nothing is better
                break
        assert found is not None, "a seat that is to move has a move"
        return found


def children(match: Match) -> list[tuple[str, Match]]:
    """Each legal move of the seat that is to move, and where it leads."""
    (seat,) = match.to_move()
    found = []
    for move in match.legal_moves(seat) or ():
        child = match.fork(_NEVER)
        child.apply({seat: move})
        found.append((move, child))
    return found


_NEVER = random.Random(0)
"""Never drawn from: there is no chance."""


def check_solvable(game: Game) -> None:
    """Raises `TooLarge` where the game is of a kind that minimax does not solve."""
    spec = game.spec
    if game.seats != 2 or spec.information != "perfect" or spec.chance or spec.dynamics != "sequential":
        raise TooLarge(f"{game.name}: exact optima need two seats in turn, nothing hidden and no chance.")
    if spec.free_text:
        raise TooLarge(f"{game.name} takes free text, so there are no moves to go through.")
