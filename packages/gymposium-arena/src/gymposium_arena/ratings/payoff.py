"""The pay-off matrix: each player's share of points against each other player, with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from gymposium_arena.ratings.bootstrap import arcsine, exponential, interval
from gymposium_arena.ratings.comparisons import Comparisons, Floats
from gymposium_arena.ratings.ranks import surely_positive_pairs


@dataclass(frozen=True, slots=True)
class Payoff:
    """Results by pairing, a row for each player and a column for each opponent: shape (n, n) unless stated otherwise.
    Shares are NaN for two players that have not met."""

    share: Floats
    """Share of the points: 1 for a win, 0.5 for a draw. Over several games, the mean of their shares."""
    samples: Floats
    """Bootstrap samples of `share`, shape (samples, n, n)."""
    low: Floats
    high: Floats
    wins: Floats
    draws: Floats
    losses: Floats

    @property
    def beats(self) -> NDArray[np.bool_]:
        """Whether the row player surely takes more than half of the points. All entries hold jointly with 95 %
        confidence."""
        return surely_positive_pairs(self.samples - 0.5)


def compute_payoff(game: Comparisons, weights: Floats, rng: np.random.Generator) -> Payoff:
    """Return the pay-off matrix of one game. `weights` holds the deal weights, shape (samples, deals).

    Each sample of a pairing has one more deal, with average weight and a share of points drawn from the
    arcsine distribution. This keeps the intervals' coverage right if all matches were won (`ratings.prior`)."""
    n = len(game.players)
    points = game.points.sum(axis=0)
    share, samples = np.full((n, n), math.nan), np.full((len(weights), n, n), math.nan)
    for one, other in combinations(range(n), 2):
        mine, theirs = game.points[:, one, other], game.points[:, other, one]
        deals, matches = np.count_nonzero(mine + theirs), float((mine + theirs).sum())
        if not deals:
            continue
        share[one, other] = points[one, other] / matches
        share[other, one] = points[other, one] / matches
        more = exponential(rng, len(weights)) * matches / deals
        won = weights @ mine + more * arcsine(rng, len(weights))
        samples[:, one, other] = won / (weights @ (mine + theirs) + more)
        samples[:, other, one] = 1.0 - samples[:, one, other]
    return _payoff(share, samples, points - 0.5 * game.tied, game.tied)


def over_games(games: Sequence[Payoff]) -> Payoff:
    """Return the mean over each pairing's games, with summed wins, draws and losses. All games have the
    same players in the same order."""
    met = np.sum([~np.isnan(game.share) for game in games], axis=0)
    times = np.where(met, met, math.nan)
    return _payoff(
        np.sum([np.nan_to_num(game.share) for game in games], axis=0) / times,
        np.sum([np.nan_to_num(game.samples) for game in games], axis=0) / times,
        np.sum([game.wins for game in games], axis=0),
        np.sum([game.draws for game in games], axis=0),
    )


def _payoff(share: Floats, samples: Floats, wins: Floats, draws: Floats) -> Payoff:
    """Return the matrix with its intervals. If all matches were won or all were lost, the interval reaches that end
    (Brown, Cai and DasGupta, 2001, Interval Estimation for a Binomial Proportion)."""
    low, high = interval(samples)
    low, high = np.where(share == 0.0, 0.0, low), np.where(share == 1.0, 1.0, high)
    return Payoff(share, samples, low, high, wins, draws, wins.T)
