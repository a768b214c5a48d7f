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
from typing import TypeVar

T = TypeVar("T")


def stream(seed: int, *key: str | int) -> random.Random:
    """The generator named by `seed` and `key`."""
    return random.Random("/".join(map(str, (seed, *key))))


def derive_seed(seed: int, *key: str | int) -> int:
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


class Draw:
    """Random choices from one stream that use only `random()`, whose draws are the same in every version of Python."""

    __slots__ = ("_random",)

    def __init__(self, rng: random.Random) -> None:
        self._random = rng.random

    def below(self, n: int) -> int:
        """A whole number from 0 to n - 1."""
        return int(self._random() * n)

    def between(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return low + self.below(high - low + 1)

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self._random() < probability

    def pick(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[self.below(len(options))]

    def some(self, options: Sequence[T], k: int) -> list[T]:
        """`k` different options, or all if there are fewer, in the order of drawing."""
        left = list(options)
        return [left.pop(self.below(len(left))) for _ in range(min(k, len(left)))]
