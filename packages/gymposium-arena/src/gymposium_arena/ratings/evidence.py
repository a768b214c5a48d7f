"""The counts that ratings are fitted to, in total and per bootstrap sample, for one game or several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gymposium_arena.ratings.comparisons import Comparisons, Floats

EACH_GAME = 50.0
"""Number of matches that each pairing counts for in each game of a joint board, however many were played."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Counts as in `Comparisons`, summed over deals. Those named `*_drawn` weight the deals in each sample."""

    players: tuple[str, ...]
    points: Floats
    """The row player's points against the column player, shape (n, n)."""
    pairs: Floats
    """How often the row player was chosen from the two, shape (n, n)."""
    chosen: Floats
    """Choices of each player from each set, shape (sets, n)."""
    sets: NDArray[np.bool_]
    """The sets of three or more players, shape (sets, n)."""
    pairs_drawn: Floats
    """Samples of `pairs`, shape (samples, n, n)."""
    asked_drawn: Floats
    """Samples of the number of choices from each set, shape (samples, sets)."""
    wins_drawn: Floats
    """Samples of each player's choices from all sets, shape (samples, n)."""

    @property
    def met(self) -> NDArray[np.bool_]:
        """Whether two players have been in a match together, shape (n, n)."""
        return np.asarray(self.points + self.points.T > 0.0)

    def among(self, members: NDArray[np.int_]) -> Evidence:
        """Restrict to `members`, given by index, which must form a connected component."""
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


def from_game(game: Comparisons, weights: Floats) -> Evidence:
    """Return the evidence from one game, with equal weight for every match. `weights`: shape (samples, deals)."""
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


def from_games(games: Sequence[Comparisons], weights: Sequence[Floats]) -> Evidence:
    """Return the evidence from several games of equal weight.

    Each pairing that met in a game counts as `EACH_GAME` matches of that game, won by its share of points. A match with
    more than two players counts as comparisons of all pairs in it. All games must have the same players in the same
    order."""
    points = np.sum([EACH_GAME * _shares(game.points.sum(axis=0)) for game in games], axis=0)
    pairs_drawn = np.sum(
        [
            EACH_GAME * _shares(np.tensordot(weight, game.points, 1))
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


def _shares(points: Floats) -> Floats:
    """Return the row player's share of each pairing's points; 0 for players that have not met."""
    both = points + points.swapaxes(-1, -2)
    return np.divide(points, both, out=np.zeros_like(points), where=both > 0.0)
