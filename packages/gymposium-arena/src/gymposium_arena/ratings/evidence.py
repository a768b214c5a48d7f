"""Sum the counts that ratings are fitted to, for one game or several, in total and per bootstrap sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gymposium_arena.ratings.comparisons import Comparisons, Floats

EACH_GAME = 50.0
"""Weight of each pairing in each game of a joint board, in matches."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The counts in `Comparisons`, summed over deals; `*_drawn` are weighted sums per bootstrap sample."""

    players: tuple[str, ...]
    points: Floats
    """The row player's points against the column player, shape (n, n)."""
    pairs: Floats
    """How often the row player was chosen over the column player, shape (n, n)."""
    chosen: Floats
    """How often each player was chosen from each set, shape (sets, n)."""
    sets: NDArray[np.bool_]
    """Membership in the choice sets, shape (sets, n)."""
    pairs_drawn: Floats
    """Samples of `pairs`, shape (samples, n, n)."""
    asked_drawn: Floats
    """Samples of the number of choices from each set, shape (samples, sets)."""
    wins_drawn: Floats
    """Samples of each player's choices from all sets, shape (samples, n)."""

    @property
    def met(self) -> NDArray[np.bool_]:
        """Whether two players have met in a match, shape (n, n)."""
        return np.asarray(self.points + self.points.T > 0.0)

    def restrict(self, members: NDArray[np.int_]) -> Evidence:
        """Restrict the evidence to a connected component, given by player indices."""
        kept = self.sets[:, members].any(axis=1)
        square = np.ix_(members, members)
        return Evidence(
            players=tuple(self.players[i] for i in members),
            points=self.points[square],
            pairs=self.pairs[square],
            chosen=self.chosen[np.ix_(kept, members)],
            sets=self.sets[np.ix_(kept, members)],
            pairs_drawn=self.pairs_drawn[:, members[:, None], members],
            asked_drawn=self.asked_drawn[:, kept],
            wins_drawn=self.wins_drawn[:, members],
        )


def sum_game(game: Comparisons, weights: Floats) -> Evidence:
    """Sum the counts of one game, with equal weight for every match. `weights` has the shape (samples, deals)."""
    return Evidence(
        players=game.players,
        points=game.points.sum(axis=0),
        pairs=game.pairs.sum(axis=0),
        chosen=game.chosen,
        sets=game.sets,
        pairs_drawn=np.tensordot(weights, game.pairs, 1),
        asked_drawn=weights @ game.asked,
        wins_drawn=weights @ game.wins,
    )


def sum_games(games: Sequence[Comparisons], weights: Sequence[Floats]) -> Evidence:
    """Sum the counts of several games with equal weight.

    In each game, a pairing that met counts as `EACH_GAME` matches, won by its share of points. A match of more than two
    players counts as comparisons of all pairs. All games must have the same players in the same order."""
    points = np.sum([EACH_GAME * _compute_shares(game.points.sum(axis=0)) for game in games], axis=0)
    pairs_drawn = np.sum(
        [
            EACH_GAME * _compute_shares(np.tensordot(weight, game.points, 1))
            for game, weight in zip(games, weights, strict=True)
        ],
        axis=0,
    )
    samples, n, _ = pairs_drawn.shape
    return Evidence(
        players=games[0].players,
        points=points,
        pairs=points,
        chosen=np.zeros((0, n)),
        sets=np.zeros((0, n), dtype=bool),
        pairs_drawn=pairs_drawn,
        asked_drawn=np.zeros((samples, 0)),
        wins_drawn=np.zeros((samples, n)),
    )


def _compute_shares(points: Floats) -> Floats:
    """Return the row player's share of each pairing's points; 0 without matches."""
    both = points + points.swapaxes(-1, -2)
    return np.divide(points, both, out=np.zeros_like(points), where=both > 0.0)
