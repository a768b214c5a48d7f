"""Resampling by deal: what is drawn together stays together, and nothing falls out.

Each sample weights every deal by a power of an exponential variable. With the power 1 that is the Bayesian bootstrap
(Rubin, 1981, The Bayesian Bootstrap). Drawing deals with replacement is the same but for whole numbers as weights;
without zeros, a sample never loses the one match that joins two players.

From few deals either way makes intervals too short: they spread as 1/(deals + 1) where a mean spreads as 1/(deals − 1),
and know nothing of Student's t. The power is a little above 1, so that they spread as they should: of 95 % intervals of
a mean, 92 % hold from ten deals and 95 % from forty, instead of 89 % and 92 %.

Only `Generator.random` is drawn from, which NumPy keeps from version to version; the rest is arithmetic.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from gymposium.arena.ratings.comparisons import Floats
from gymposium.arena.ratings.scale import CONFIDENCE
from gymposium.streams import stream

SAMPLES = 1000


def generator(seed: int, *key: str | int) -> np.random.Generator:
    """NumPy's generator for the stream called so (`gymposium.streams`)."""
    return np.random.Generator(np.random.PCG64(stream(seed, "bootstrap", *key).getrandbits(128)))


def deal_weights(rng: np.random.Generator, samples: int, deals: int) -> Floats:
    """Shape (samples, deals)."""
    return np.asarray(exponential(rng, samples, deals) ** _power(deals))


def exponential(rng: np.random.Generator, *shape: int) -> Floats:
    """Variables of mean 1, of the given shape."""
    return -np.log1p(-rng.random(shape))


def arcsine(rng: np.random.Generator, *shape: int) -> Floats:
    """Shares from 0 to 1 by the arcsine law, which is Jeffreys' prior for a proportion."""
    return np.sin(0.5 * np.pi * rng.random(shape)) ** 2


def interval(samples: Floats) -> tuple[Floats, Floats]:
    """The ends of the middle 95 % of samples, which are along the first axis; NaN where they are."""
    low, high = np.quantile(samples, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    return low, high


_MOST = 3.0
"""The greatest power: from three deals or fewer no interval can be relied on."""


@lru_cache(maxsize=64)
def _power(deals: int) -> float:
    """The power at which a mean over so many deals spreads like Student's t with its unbiased variance."""
    from scipy.optimize import brentq
    from scipy.special import gammaln
    from scipy.stats import norm, t

    if deals < 2:
        return _MOST
    tail = (1 + CONFIDENCE) / 2
    wanted = (t.ppf(tail, deals - 1) / norm.ppf(tail)) ** 2 * (deals + 1) / (deals - 1)

    def too_wide(power: float) -> float:
        """The squared coefficient of variation of the power of an exponential variable, less what is wanted."""
        return float(np.exp(gammaln(1 + 2 * power) - 2 * gammaln(1 + power)) - 1 - wanted)

    return _MOST if too_wide(_MOST) < 0 else float(brentq(too_wide, 1.0, _MOST))
