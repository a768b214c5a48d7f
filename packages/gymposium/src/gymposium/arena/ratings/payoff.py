"""How each pairing went: the share of points that each player took from each other, with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from gymposium.arena.ratings.bootstrap import arcsine, exponential, interval
from gymposium.arena.ratings.comparisons import Comparisons, Floats
from gymposium.arena.ratings.ranks import surely


@dataclass(frozen=True, slots=True)
class Payoff:
    """A row for each player, a column for each opponent: shape (n, n). NaN where two have not met."""

    share: Floats
    """Of the points: 1 for a match won, 0.5 for a draw. Over several games, the mean of their shares."""
    samples: Floats
    """Shape (samples, n, n): the same from resampled matches."""
    low: Floats
    high: Floats
    wins: Floats
    draws: Floats
    losses: Floats

    @property
    def beats(self) -> NDArray[np.bool_]:
        """Whether the row's player surely takes more than half of the points. All are right together in 95 %."""
        n = len(self.share)
        one, other = np.triu_indices(n, 1)
        sign = surely(self.samples[:, one, other] - 0.5)
        beats = np.zeros((n, n), dtype=bool)
        beats[one, other], beats[other, one] = sign > 0, sign < 0
        return beats


def payoff_of(game: Comparisons, weights: Floats, rng: np.random.Generator) -> Payoff:
    """The pay-off matrix of one game. `weights` of deals has the shape (samples, deals).

    Each sample of a pairing has one deal more, of the same weight as another, that is won in part, by the arcsine law:
    so an interval holds what it promises where all was won (`ratings.prior`)."""
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
    wins = points - 0.5 * game.tied
    return Payoff(share, samples, *_ends(share, samples), wins, game.tied, wins.T)


def over_games(games: Sequence[Payoff]) -> Payoff:
    """The mean over those games in which a pairing has met. The players are the same in all, in the same order."""
    held = np.sum([~np.isnan(game.share) for game in games], axis=0)
    times = np.where(held, held, math.nan)
    share = np.sum([np.nan_to_num(game.share) for game in games], axis=0) / times
    samples = np.sum([np.nan_to_num(game.samples) for game in games], axis=0) / times
    wins, draws = np.sum([game.wins for game in games], axis=0), np.sum([game.draws for game in games], axis=0)
    return Payoff(share, samples, *_ends(share, samples), wins, draws, wins.T)


def _ends(share: Floats, samples: Floats) -> tuple[Floats, Floats]:
    """Intervals; where all was won, or all lost, they reach that end (Brown, Cai and DasGupta, 2001)."""
    low, high = interval(samples)
    return np.where(share == 0.0, 0.0, low), np.where(share == 1.0, 1.0, high)
