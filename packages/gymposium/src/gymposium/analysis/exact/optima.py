"""The best possible results against a uniformly random opponent.

Computing them needs a traversal, so a game must have two alternating seats, perfect information and no chance.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

from gymposium.analysis.exact.minimax import Minimax, check_solvable, list_children
from gymposium.analysis.exact.outcome import Outcome
from gymposium.analysis.exact.size import MOST_UNASKED, TraversalGuard
from gymposium.games.protocol import Game, Match

Preference = Callable[[Outcome], tuple[float, ...]]
"""A function that ranks outcomes: the best outcome has the greatest tuple."""

PREFER_WINS: Preference = attrgetter("win", "draw")
_GAINS: Preference = attrgetter("mean_return", "win")


class RandomOpponent:
    """Values of one seat's best policy against random replies, cached by view."""

    def __init__(
        self, game: Game, seat: int, prefer: Preference, *, safe: Minimax | None = None, most: int = MOST_UNASKED
    ) -> None:
        """With `safe`, the seat's minimax, its policy keeps every position's minimax value. Up to `most` positions are
        cached."""
        self._seat, self._prefer, self._room = seat, prefer, TraversalGuard(game, most)
        self._values: dict[tuple[str, int], Outcome] = {}
        self._minimax = safe

    def value(self, match: Match) -> Outcome:
        """Return the outcome of a position. Raises `TooLarge` if too many positions follow."""
        seats = match.to_move()
        if not seats:
            return Outcome.from_returns(match.returns(), self._seat)
        key = (match.view(0), seats[0])
        if key not in self._values:
            self._room.enter(key, len(self._values))
            mine = seats[0] == self._seat
            values = []
            for child in self._list_candidates(match, mine):  # a comprehension would add a frame per level of recursion
                values.append(self.value(child))  # noqa: PERF401
            self._values[key] = max(values, key=self._prefer) if mine else Outcome.mean(values)
            self._room.leave(key)
        return self._values[key]

    def _list_candidates(self, match: Match, mine: bool) -> list[Match]:
        """Return the position after each move.

        A safe policy's own moves are limited to those that keep the minimax value."""
        ahead = [child for _, child in list_children(match)]
        if self._minimax is None or not mine:
            return ahead
        worth = [self._minimax.value(child) for child in ahead]
        return [child for child, w in zip(ahead, worth, strict=True) if w == max(worth)]


def compute_optima_against_random(game: Game) -> dict[str, Outcome]:
    """Return the best results by three criteria: most wins, highest return, and most wins among safe policies.

    A safe policy keeps every position's minimax value, so it never turns a draw or a win into a loss.

    Raises `TooLarge` if the game cannot be traversed."""
    check_solvable(game)
    kinds = {"most wins": (PREFER_WINS, False), "best return": (_GAINS, False), "minimax-safe": (PREFER_WINS, True)}
    return {
        name: Outcome.mean([_compute_value(game, seat, prefer, safe=safe) for seat in (0, 1)])
        for name, (prefer, safe) in kinds.items()
    }


def _compute_value(game: Game, seat: int, prefer: Preference, *, safe: bool) -> Outcome:
    minimax = Minimax(game, seat, MOST_UNASKED) if safe else None
    return RandomOpponent(game, seat, prefer, safe=minimax).value(game.new(0))
