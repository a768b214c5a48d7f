"""Named random streams, which are independent of each other.

A stream is named by a seed and a key (`stream(7, "chance")`, `stream(7, "seat", 1)`). Equal names give equal draws on
every machine: `random.Random` hashes a string seed with SHA-512, and Python guarantees that `random()` does not change
between versions. No global generator is used. Creating a stream takes about 5 µs, more than a whole game of
tic-tac-toe, so create it on first use.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from hashlib import blake2b


def stream(seed: int, *key: str | int) -> random.Random:
    """The generator named by `seed` and `key`."""
    return random.Random("/".join(map(str, (seed, *key))))


def derived_seed(seed: int, *key: str | int) -> int:
    """A 48-bit seed derived from `seed` and `key`, at a fifth of the cost of a stream. `seed` cannot be computed from
    it other than by trying candidates."""
    return int.from_bytes(blake2b("/".join(map(str, (seed, *key))).encode(), digest_size=6).digest())


def draw(outcomes: Sequence[tuple[int, float]], rng: random.Random) -> int:
    """Draw one outcome of `[(outcome, probability), …]` with exactly one call of `rng.random()`."""
    u = rng.random()
    for outcome, probability in outcomes:
        u -= probability
        if u < 0.0:
            return outcome
    return outcomes[-1][0]  # the probabilities may sum to slightly less than one
