"""Resampling by deal: what is drawn together stays together, and nothing falls out.

Each sample weights every deal by an exponential variable (the Bayesian bootstrap: Rubin, 1981, The Bayesian Bootstrap).
Drawing deals with replacement is the same but for whole numbers as weights; without zeros, a sample never loses the one
match that joins two players.

Only `Generator.random` is drawn from, which NumPy keeps from version to version; the rest is arithmetic.
"""

from __future__ import annotations

import numpy as np

from gymposium.arena.ratings.comparisons import Floats
from gymposium.arena.ratings.scale import CONFIDENCE
from gymposium.streams import stream

SAMPLES = 1000


def generator(seed: int, *key: str | int) -> np.random.Generator:
    """NumPy's generator for the stream called so (`gymposium.streams`)."""
    return np.random.Generator(np.random.PCG64(stream(seed, "bootstrap", *key).getrandbits(128)))


def exponential(rng: np.random.Generator, *shape: int) -> Floats:
    """Variables of mean 1, of the given shape: for deals (samples, deals)."""
    return -np.log1p(-rng.random(shape))


def arcsine(rng: np.random.Generator, *shape: int) -> Floats:
    """Shares from 0 to 1 by the arcsine law, which is Jeffreys' prior for a proportion."""
    return np.sin(0.5 * np.pi * rng.random(shape)) ** 2


def interval(samples: Floats) -> tuple[Floats, Floats]:
    """The ends of the middle 95 % of samples, which are along the first axis; NaN where they are."""
    low, high = np.quantile(samples, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    return low, high
