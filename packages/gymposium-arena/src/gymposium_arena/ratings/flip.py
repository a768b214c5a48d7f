"""The flip distance of a board: the smallest set of deals found whose removal puts another player first.

Deals are ordered by their influence on the gap between the first player and each other one, measured by a fit
without each of them (as in Broderick, Giordano and Meager, 2020, An Automatic Finite-Sample
Robustness Metric). Every reported set is confirmed by a fit without it, with the same prior. On small boards all
smaller sets are tried too, so the distance is exact; on others it is an upper bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from gymposium_arena.ratings.comparisons import Floats
from gymposium_arena.ratings.connectivity import find_component
from gymposium_arena.ratings.evidence import Evidence
from gymposium_arena.ratings.fit import Ratings
from gymposium_arena.ratings.newton import fit_many
from gymposium_arena.ratings.prior import expected

AT_ONCE = 512
"""Number of fits per batch."""
TRIED = 40_000
"""Maximum number of sets of one size that are all tried."""
EQUAL = 1e-6
"""Log-strengths closer than this are equal: ten times the residual of a fit."""
PREFIXES = 64
"""Maximum number of set sizes tried against one player."""


@dataclass(frozen=True, slots=True)
class Flip:
    """A set of deals without which another player is first."""

    deals: tuple[int, ...]
    """The indices of the deals."""
    first: str
    """The player who is first without them."""


def find_flip(ratings: Ratings, evidence: Callable[[Floats], Evidence], deals: int) -> Flip | None:
    """Return the smallest set found, or None.

    `evidence` returns the evidence with these deal weights, shape (samples, deals)."""
    search = _Search(ratings, evidence, deals)
    found = min(search.by_influence(), key=lambda flip: len(flip.deals), default=None)
    if found is None:
        return None
    for size in range(1, len(found.deals)):
        if math.comb(deals, size) > TRIED:
            break
        smaller = search.confirmed(combinations(range(deals), size))
        if smaller is not None:
            return smaller
    return found


class _Search:
    """Fits without sets of deals."""

    def __init__(self, ratings: Ratings, evidence: Callable[[Floats], Evidence], deals: int) -> None:
        self._evidence, self._deals = evidence, deals
        self._players = ratings.players
        whole = evidence(np.ones((1, deals)))
        self._joined = find_component(whole.met, ratings.players.index(ratings.anchor))
        self._prior = expected(whole.among(self._joined).met)
        self._rated = np.flatnonzero(~np.isnan(ratings.values[self._joined]))
        """Players with a rating, by their index in the fits."""
        self._whole = self._fit(np.ones((1, deals)))[0]
        self._first = int(self._rated[np.argmax(self._whole[self._rated])])

    def _fit(self, weights: Floats) -> Floats:
        """Return log-strengths with these deal weights, shape (samples, players)."""
        here = self._evidence(weights).among(self._joined)
        return fit_many(here.pairs_drawn + self._prior, here.sets, here.asked_drawn, here.wins_drawn)

    def _without(self, sets: Sequence[Sequence[int]]) -> Floats:
        """Return log-strengths without each of these sets of deals."""
        weights = np.ones((len(sets), self._deals))
        for row, removed in zip(weights, sets, strict=True):
            row[list(removed)] = 0.0
        return self._fit(weights)

    def _firsts(self, strengths: Floats) -> NDArray[np.int_]:
        """Return the first player in each fit; the current one in a tie."""
        rated = strengths[:, self._rated]
        best = self._rated[np.argmax(rated, axis=1)]
        return np.where(strengths[:, self._first] > rated.max(axis=1) - EQUAL, self._first, best)

    def confirmed(self, sets: Iterator[tuple[int, ...]]) -> Flip | None:
        """Return the first of these sets without which another player is first."""
        while batch := [*islice(sets, AT_ONCE)]:
            firsts = self._firsts(self._without(batch))
            if len(flipped := np.flatnonzero(firsts != self._first)):
                index = int(flipped[0])
                return Flip(batch[index], self._players[self._joined[firsts[index]]])
        return None

    def by_influence(self) -> Iterator[Flip]:
        """Yield, for each other player, the smallest tried set that changes who is first."""
        single = np.concatenate(
            [
                self._without([[deal] for deal in range(begin, min(begin + AT_ONCE, self._deals))])
                for begin in range(0, self._deals, AT_ONCE)
            ]
        )
        margins = self._whole[self._first] - self._whole
        influence = margins - (single[:, [self._first]] - single)
        for rival in self._rated:
            if rival == self._first:
                continue
            order = [int(deal) for deal in np.argsort(-influence[:, rival], kind="stable")]
            order = order[: int((influence[:, rival] > 0.0).sum())]
            if not order:
                continue
            reached = np.cumsum(influence[order, rival]) >= margins[rival]
            likely = int(np.argmax(reached)) + 1 if reached.any() else len(order)
            sizes = _sizes(min(len(order), 2 * likely + 4))
            flip = self._smallest(order, sizes)
            if flip is not None:
                below = max((size for size in sizes if size < len(flip.deals)), default=0)
                yield self._smallest(order, range(below + 1, len(flip.deals))) or flip

    def _smallest(self, order: Sequence[int], sizes: Sequence[int]) -> Flip | None:
        return self.confirmed(tuple(order[:size]) for size in sizes)


def _sizes(most: int) -> list[int]:
    """Return sizes from 1 to `most`: all of them, or in ever larger steps."""
    if most <= PREFIXES:
        return [*range(1, most + 1)]
    return sorted({round(most ** (step / (PREFIXES - 1))) for step in range(PREFIXES)})
