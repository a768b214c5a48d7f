"""The mix of games: each game's share of a step's groups, by weight and difficulty."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice
from statistics import fmean

from gymposium_train.config.play import Sampling

RECENT = 0.2
"""Weight of a step's mean score in a game's moving mean."""
LEAST = 0.1
"""Smallest factor of a game's weight. An easy or hard game is not dropped, because that may change."""


class GameMix:
    """The shares of the games, which depend on the scores so far with `sampling = "difficulty"`."""

    def __init__(self, weights: Mapping[str, float], sampling: Sampling) -> None:
        """`weights` are the games' shares in the config, by name."""
        self._weights = dict(weights)
        self.scores: dict[str, float] = dict.fromkeys(weights, 0.5) if sampling == "difficulty" else {}
        """The moving mean score in each game, if the shares depend on it. A game without scores counts as even."""

    def compute_shares(self) -> list[float]:
        """Return the current share of each game. They add up to 1."""
        even = {name: 4.0 * score * (1.0 - score) for name, score in self.scores.items()}
        weights = [weight * max(LEAST, even.get(name, 1.0)) for name, weight in self._weights.items()]
        total = math.fsum(weights)
        return [weight / total for weight in weights]

    def note(self, scores: Mapping[str, Sequence[float]]) -> None:
        """Note the scores of a step's matches in each game."""
        for name, before in self.scores.items():
            if found := scores.get(name):
                self.scores[name] = before + RECENT * (fmean(found) - before)

    def take(self, first: int, count: int) -> Iterator[tuple[int, int]]:
        """Yield the game of `count` groups, from the run's group `first` on, as `rotate` does."""
        return islice(rotate(self.compute_shares(), first), count)


def rotate(shares: Sequence[float], first: int = 0) -> Iterator[tuple[int, int]]:
    """Yield the game of each group, and the number of earlier groups of that game. Begins with group `first` of an
    endless run with these shares.

    Group k of a game with share s has the time (k + 1/2) / s. Groups are in order of time, so every stretch of the run
    has the games in proportion. With equal shares, the games rotate."""
    exact = [Fraction(share) for share in shares]
    start = max(Fraction(0), (first - len(exact)) / sum(exact))  # fewer than `first` groups have an earlier time
    counts = [math.floor(share * start + Fraction(1, 2)) for share in exact]
    while True:
        game = min(range(len(exact)), key=lambda number: (2 * counts[number] + 1) / exact[number])
        if sum(counts) >= first:
            yield game, counts[game]
        counts[game] += 1
