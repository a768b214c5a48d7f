"""What is assumed of players before they play: next to nothing, the same for all, in words that can be printed.

Each player has one virtual match, a draw, shared out evenly among those that it has met. So whoever never lost a match
has a finite rating. A virtual draw for each *pairing* would be simpler to say, and wrong: of players that are far apart
it says that the weaker one wins now and then, and ten players have 45 pairings, so it presses long ladders together.

In each sample of the bootstrap the virtual match is against one of those met, at random, with a weight and a share of
its own. For two players that makes intervals as Jeffreys' prior does, which hold what they promise even where all
matches were won (Brown, Cai and DasGupta, 2001, Interval Estimation for a Binomial Proportion).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gymposium.arena.ratings.bootstrap import arcsine, exponential
from gymposium.arena.ratings.comparisons import Floats

VIRTUAL = 1.0
"""Virtual matches for each player."""

_LEAST = 0.01
"""The part of the virtual matches that is shared out evenly in samples too, so that each has a finite fit."""


def expected(met: NDArray[np.bool_]) -> Floats:
    """Shape (n, n): virtual points of the row's player against the column's. `met`, of the same shape, says who has met
    whom."""
    mine = met / np.maximum(met.sum(axis=1, keepdims=True), 1)
    return np.asarray(0.5 * VIRTUAL * (mine + mine.T))


def drawn(met: NDArray[np.bool_], samples: int, rng: np.random.Generator) -> Floats:
    """Shape (samples, n, n): the same, drawn anew for each sample."""
    n = len(met)
    found = np.zeros((samples, n, n))
    rows = np.arange(samples)
    weight, share, pick = exponential(rng, samples, n), arcsine(rng, samples, n), rng.random((samples, n))
    for one in range(n):
        others = np.flatnonzero(met[one])
        if not len(others):
            continue
        other = others[(pick[:, one] * len(others)).astype(int)]
        found[rows, one, other] += VIRTUAL * weight[:, one] * share[:, one]
        found[rows, other, one] += VIRTUAL * weight[:, one] * (1.0 - share[:, one])
    return np.asarray((1.0 - _LEAST) * found + _LEAST * expected(met))
