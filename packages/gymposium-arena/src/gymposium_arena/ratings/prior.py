"""The prior of ratings: one virtual drawn match for each player.

The virtual match is split evenly among the opponents that the player has met, so a player that never lost has a finite
rating. A virtual draw for each *pairing* would compress long ladders: it claims that a far weaker player sometimes
wins, and ten players have 45 pairings.

In each bootstrap sample the virtual match is against one random opponent, with a random weight and a random share of
its points. For two players this gives the intervals of Jeffreys' prior, whose coverage is right even if all matches
were won (Brown, Cai and DasGupta, 2001, Interval Estimation for a Binomial Proportion).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gymposium_arena.ratings.bootstrap import arcsine, exponential
from gymposium_arena.ratings.comparisons import Floats

VIRTUAL = 1.0
"""Virtual matches for each player."""

_LEAST = 0.01
"""Fraction of the virtual matches that is split evenly in the samples too, so that each has a finite fit."""


def expected(met: NDArray[np.bool_]) -> Floats:
    """Return the row player's virtual points against the column player, shape (n, n). `met`, of the same shape, is True
    for players that have met."""
    mine = met / np.maximum(met.sum(axis=1, keepdims=True), 1)
    return np.asarray(0.5 * VIRTUAL * (mine + mine.T))


def drawn(met: NDArray[np.bool_], samples: int, rng: np.random.Generator) -> Floats:
    """Return virtual points drawn for each bootstrap sample, shape (samples, n, n)."""
    n = len(met)
    points = np.zeros((samples, n, n))
    rows = np.arange(samples)
    weight, share, pick = exponential(rng, samples, n), arcsine(rng, samples, n), rng.random((samples, n))
    for one in range(n):
        others = np.flatnonzero(met[one])
        if not len(others):
            continue
        other = others[(pick[:, one] * len(others)).astype(int)]
        points[rows, one, other] += VIRTUAL * weight[:, one] * share[:, one]
        points[rows, other, one] += VIRTUAL * weight[:, one] * (1.0 - share[:, one])
    return np.asarray((1.0 - _LEAST) * points + _LEAST * expected(met))
