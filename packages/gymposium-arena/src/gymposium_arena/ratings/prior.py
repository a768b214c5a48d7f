"""The prior of ratings: one virtual draw per player.

The virtual match is split evenly among the opponents that the player has met, so a player that never lost has a finite
rating. A virtual draw per *pairing* would compress long ladders, as if far weaker players sometimes won.

In each bootstrap sample the virtual match is against one random opponent, with random weight and points. For two
players this gives the intervals of Jeffreys' prior, whose coverage is right even if all matches were won (Brown, Cai
and DasGupta, 2001, Interval Estimation for a Binomial Proportion).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gymposium_arena.ratings.bootstrap import draw_arcsine, draw_exponential
from gymposium_arena.ratings.comparisons import Floats

VIRTUAL = 1.0
"""Number of virtual matches per player."""

_EVEN_SHARE = 0.01
"""Share of the virtual matches that bootstrap samples also split evenly, so that each sample has a finite fit."""


def compute_prior(met: NDArray[np.bool_]) -> Floats:
    """Return the row player's virtual points against the column player, shape (n, n).

    `met`, of the same shape, is True for two players that have met."""
    mine = met / np.maximum(met.sum(axis=1, keepdims=True), 1)
    return np.asarray(0.5 * VIRTUAL * (mine + mine.T))


def draw_prior(met: NDArray[np.bool_], samples: int, rng: np.random.Generator) -> Floats:
    """Draw the virtual points of each bootstrap sample, shape (samples, n, n)."""
    n = len(met)
    points = np.zeros((samples, n, n))
    rows = np.arange(samples)
    weight, share, pick = draw_exponential(rng, samples, n), draw_arcsine(rng, samples, n), rng.random((samples, n))
    for one in range(n):
        others = np.flatnonzero(met[one])
        if not len(others):
            continue
        other = others[(pick[:, one] * len(others)).astype(int)]
        points[rows, one, other] += VIRTUAL * weight[:, one] * share[:, one]
        points[rows, other, one] += VIRTUAL * weight[:, one] * (1.0 - share[:, one])
    return np.asarray((1.0 - _EVEN_SHARE) * points + _EVEN_SHARE * compute_prior(met))
