"""How well can anybody do against a uniformly random opponent?

By traversal of the game, so only for two seats that move in turn, nothing hidden and no chance.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from gymposium.exact.outcome import Outcome
from gymposium.exact.size import MAX_POSITIONS, TooLarge
from gymposium.games.protocol import Game, Match

Preference = Callable[[Outcome], tuple[float, ...]]


class _Traversal:
    """Values of one seat's best policy against random replies, positions remembered by their view."""

    def __init__(self, seat: int, prefer: Preference, safe: bool) -> None:
        self._seat, self._prefer, self._safe = seat, prefer, safe
        self._values: dict[tuple[str, int], Outcome] = {}
        self._minimax: dict[tuple[str, int], float] = {}
        self._rng = random.Random(0)  # never drawn from: there is no chance

    def value(self, match: Match) -> Outcome:
        seats = match.to_move()
        if not seats:
            return Outcome.of(match.returns(), self._seat)
        key = (match.view(0), seats[0])
        if key not in self._values:
            if len(self._values) >= MAX_POSITIONS:
                raise TooLarge(f"{match.game.name} has more than {MAX_POSITIONS} positions.")
            self._values[key] = self._combine(seats[0], self._children(match))
        return self._values[key]

    def _combine(self, mover: int, children: list[Match]) -> Outcome:
        if mover == self._seat:
            if self._safe:
                worth = [self.minimax(child) for child in children]
                children = [c for c, w in zip(children, worth, strict=True) if w == max(worth)]
            return max((self.value(child) for child in children), key=self._prefer)
        return Outcome.mean([self.value(child) for child in children])

    def minimax(self, match: Match) -> float:
        """The seat's return under best play of both."""
        seats = match.to_move()
        if not seats:
            return match.returns()[self._seat]
        key = (match.view(0), seats[0])
        if key not in self._minimax:
            values = [self.minimax(child) for child in self._children(match)]
            self._minimax[key] = max(values) if seats[0] == self._seat else min(values)
        return self._minimax[key]

    def _children(self, match: Match) -> list[Match]:
        (seat,) = match.to_move()
        children = []
        for move in match.legal_moves(seat) or ():
            child = match.fork(self._rng)
            child.apply({seat: move})
            children.append(child)
        return children


def optima_against_random(game: Game) -> dict[str, Outcome]:
    """Three optima: the most wins, the greatest return, and the most wins among policies that keep the
    minimax value of every position (they never lose a game that cannot be lost).

    Raises `TooLarge` where the game cannot be traversed."""
    spec = game.spec
    if game.seats != 2 or spec.information != "perfect" or spec.chance or spec.dynamics != "sequential":
        raise TooLarge(f"{game.name}: exact optima need two seats in turn, nothing hidden and no chance.")

    def wins(v: Outcome) -> tuple[float, ...]:
        return (v.win, v.draw)

    def gains(v: Outcome) -> tuple[float, ...]:
        return (v.mean_return, v.win)

    kinds: dict[str, tuple[Preference, bool]] = {
        "most wins": (wins, False),
        "best return": (gains, False),
        "minimax-safe": (wins, True),
    }
    found = {}
    for name, (prefer, safe) in kinds.items():
        found[name] = Outcome.mean([_Traversal(seat, prefer, safe).value(game.new(0)) for seat in (0, 1)])
    return found
