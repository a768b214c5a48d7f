"""Cluster bootstrap by deal, with positive weights.

Each sample weights every deal by a power of an exponential variable. With power 1 this is the Bayesian bootstrap
(Rubin, 1981, The Bayesian Bootstrap). Resampling deals with replacement would give integer weights; positive weights
never drop the only match that connects two players.

With few deals both methods give intervals that are too narrow. Their variance scales as 1/(deals + 1), but that of a
mean as 1/(deals − 1), and they ignore Student's t. A power slightly above 1 corrects this. The 95% intervals of a mean
then cover 92% with ten deals and 95% with forty, instead of 89% and 92%.

Only `Generator.random` is called, whose stream is stable across NumPy versions.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from gymposium.util.streams import stream
from gymposium_arena.ratings.comparisons import Floats

CONFIDENCE = 0.95
"""Confidence level of every interval."""
SAMPLES = 1000
"""Default number of bootstrap samples."""


def make_generator(seed: int, *key: str | int) -> np.random.Generator:
    """Make a NumPy generator seeded from a named stream (`gymposium.util.streams`)."""
    return np.random.Generator(np.random.PCG64(stream(seed, "bootstrap", *key).getrandbits(128)))


def draw_deal_weights(rng: np.random.Generator, samples: int, deals: int, effective: float | None = None) -> Floats:
    """Draw positive deal weights for each sample, shape (samples, deals).

    `effective` is the effective number of deals, if their weights differ. Fewer deals give more spread."""
    return np.asarray(
        draw_exponential(rng, samples, deals) ** _find_power(deals if effective is None else int(effective))
    )


def draw_exponential(rng: np.random.Generator, *shape: int) -> Floats:
    """Draw exponential variables of mean 1 in the given shape."""
    return -np.log1p(-rng.random(shape))


def draw_arcsine(rng: np.random.Generator, *shape: int) -> Floats:
    """Draw from the arcsine distribution on [0, 1], which is Jeffreys' prior for a proportion."""
    return np.sin(0.5 * np.pi * rng.random(shape)) ** 2


def compute_interval(samples: Floats) -> tuple[Floats, Floats]:
    """Return the ends of the central 95% interval along the first axis; NaN for samples with NaN."""
    low, high = np.quantile(samples, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    return low, high


_MAX_POWER = 3.0
"""Upper bound of the power, reached with three deals or fewer, where no interval is reliable."""


@lru_cache(maxsize=64)
def _find_power(deals: int) -> float:
    """Return the power for this many deals. With it, a mean has the spread of Student's t with the unbiased
    variance."""
    from scipy.optimize import brentq
    from scipy.special import gammaln, ndtri, stdtrit  # scipy.stats takes a second to import

    if deals < 2:
        return _MAX_POWER
    tail = (1 + CONFIDENCE) / 2
    wanted = (stdtrit(deals - 1, tail) / ndtri(tail)) ** 2 * (deals + 1) / (deals - 1)

    def measure_excess_width(power: float) -> float:
        """Return by how much an exponential power's squared coefficient of variation exceeds the target."""
        return float(np.exp(gammaln(1 + 2 * power) - 2 * gammaln(1 + power)) - 1 - wanted)

    return _MAX_POWER if measure_excess_width(_MAX_POWER) < 0 else float(brentq(measure_excess_width, 1.0, _MAX_POWER))
