"""Named, independent random streams.

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
    """Return the generator named by `seed` and `key`."""
    return random.Random("/".join(map(str, (seed, *key))))


def derive_seed(seed: int, *key: str | int) -> int:
    """Derive a 48-bit seed from `seed` and `key`, at a fifth of the cost of a stream.

    `seed` cannot be recovered from the result except by trying candidates."""
    return int.from_bytes(blake2b("/".join(map(str, (seed, *key))).encode(), digest_size=6).digest())


def draw_outcome(outcomes: Sequence[tuple[int, float]], rng: random.Random) -> int:
    """Draw one outcome of `[(outcome, probability), …]` with exactly one call of `rng.random()`."""
    u = rng.random()
    for outcome, probability in outcomes:
        u -= probability
        if u < 0.0:
            return outcome
    return outcomes[-1][0]  # the probabilities may sum to slightly less than one


class Draw:
    """Random choices from one stream, the same in every version of Python because they use only `random()`."""

    __slots__ = ("_random",)

    def __init__(self, rng: random.Random) -> None:
        self._random = rng.random

    def below(self, n: int) -> int:
        """Return a random integer from 0 to n - 1."""
        return int(self._random() * n)

    def between(self, low: int, high: int) -> int:
        """Return a random integer from `low` to `high`, inclusive."""
        return low + self.below(high - low + 1)

    def chance(self, probability: float) -> bool:
        """Return True with this probability."""
        return self._random() < probability

    def pick(self, options: Sequence[T]) -> T:
        """Return a random option."""
        return options[self.below(len(options))]

    def some(self, options: Sequence[T], k: int) -> list[T]:
        """Return `k` different random options in the order of drawing, or all options if there are fewer."""
        left = list(options)
        return [left.pop(self.below(len(left))) for _ in range(min(k, len(left)))]
