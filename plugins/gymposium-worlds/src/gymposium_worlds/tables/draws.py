"""Random choices that use only `random()`, whose draws are the same in every version of Python."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class RowDraw:
    """Random choices from one stream."""

    __slots__ = ("_random",)

    def __init__(self, rng: random.Random) -> None:
        self._random = rng.random

    def below(self, n: int) -> int:
        """Return a whole number from 0 to n - 1."""
        return int(self._random() * n)

    def between(self, low: int, high: int) -> int:
        """Return a whole number from `low` to `high`, both included."""
        return low + self.below(high - low + 1)

    def chance(self, probability: float) -> bool:
        """Return True with this probability."""
        return self._random() < probability

    def pick(self, options: Sequence[T]) -> T:
        """Return one of the options."""
        return options[self.below(len(options))]

    def some(self, options: Sequence[T], k: int) -> list[T]:
        """Return `k` different options, in the order in which they were drawn."""
        left = list(options)
        return [left.pop(self.below(len(left))) for _ in range(k)]
