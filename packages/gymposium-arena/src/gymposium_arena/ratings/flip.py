"""Find a board's flip distance: the size of the smallest set of deals whose removal puts another player first.

Deals are ordered by their influence on the first player's lead over a rival, measured by a fit without each deal (as in
Broderick, Giordano and Meager, 2020, An Automatic Finite-Sample Robustness Metric). A fit without the set, with the
same prior, confirms each result. On small boards all smaller sets are tried too, so the distance is exact. On larger
boards it is an upper bound.
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
from gymposium_arena.ratings.prior import compute_prior

BATCH = 512
"""Number of fits per batch."""
MAX_SETS = 40_000
"""Maximum number of sets of one size to try exhaustively."""
TOLERANCE = 1e-6
"""Log-strengths closer than this are equal; ten times a fit's residual."""
MAX_SIZES = 64
"""Maximum number of set sizes to try per rival."""


@dataclass(frozen=True, slots=True)
class Flip:
    """A set of deals whose removal puts another player first."""

    deals: tuple[int, ...]
    """The indices of the removed deals."""
    first: str
    """The player in first place without these deals."""


def find_flip(ratings: Ratings, evidence: Callable[[Floats], Evidence], deals: int) -> Flip | None:
    """Return the smallest set found, or None.

    `evidence` maps deal weights, shape (samples, deals), to evidence; `deals` is the number of deals."""
    search = _FlipSearch(ratings, evidence, deals)
    found = min(search.search_by_influence(), key=lambda flip: len(flip.deals), default=None)
    if found is None:
        return None
    for size in range(1, len(found.deals)):
        if math.comb(deals, size) > MAX_SETS:
            break
        smaller = search.confirm(combinations(range(deals), size))
        if smaller is not None:
            return smaller
    return found


class _FlipSearch:
    """A search that fits ratings without sets of deals."""

    def __init__(self, ratings: Ratings, evidence: Callable[[Floats], Evidence], deals: int) -> None:
        self._evidence, self._deals = evidence, deals
        self._players = ratings.players
        whole = evidence(np.ones((1, deals)))
        self._joined = find_component(whole.met, ratings.players.index(ratings.anchor))
        self._prior = compute_prior(whole.restrict(self._joined).met)
        self._rated = np.flatnonzero(~np.isnan(ratings.values[self._joined]))
        """Indices of the rated players in the fits."""
        self._whole = self._fit(np.ones((1, deals)))[0]
        self._first = int(self._rated[np.argmax(self._whole[self._rated])])

    def _fit(self, weights: Floats) -> Floats:
        """Fit log-strengths with these deal weights, and return them, shape (samples, players)."""
        here = self._evidence(weights).restrict(self._joined)
        return fit_many(here.pairs_drawn + self._prior, here.sets, here.asked_drawn, here.wins_drawn)

    def _fit_without(self, sets: Sequence[Sequence[int]]) -> Floats:
        """Fit and return log-strengths without each of these sets of deals."""
        weights = np.ones((len(sets), self._deals))
        for row, removed in zip(weights, sets, strict=True):
            row[list(removed)] = 0.0
        return self._fit(weights)

    def _find_first(self, strengths: Floats) -> NDArray[np.int_]:
        """Return the first player in each fit. Ties go to the current first player."""
        rated = strengths[:, self._rated]
        best = self._rated[np.argmax(rated, axis=1)]
        return np.where(strengths[:, self._first] > rated.max(axis=1) - TOLERANCE, self._first, best)

    def confirm(self, sets: Iterator[tuple[int, ...]]) -> Flip | None:
        """Return the first of these sets whose removal puts another player first, or None."""
        while batch := [*islice(sets, BATCH)]:
            firsts = self._find_first(self._fit_without(batch))
            if len(flipped := np.flatnonzero(firsts != self._first)):
                index = int(flipped[0])
                return Flip(batch[index], self._players[self._joined[firsts[index]]])
        return None

    def search_by_influence(self) -> Iterator[Flip]:
        """Yield the smallest set found for each rival, trying deals in order of influence."""
        single = np.concatenate(
            [
                self._fit_without([[deal] for deal in range(begin, min(begin + BATCH, self._deals))])
                for begin in range(0, self._deals, BATCH)
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
            sizes = _choose_sizes(min(len(order), 2 * likely + 4))
            flip = self._confirm_prefixes(order, sizes)
            if flip is not None:
                below = max((size for size in sizes if size < len(flip.deals)), default=0)
                yield self._confirm_prefixes(order, range(below + 1, len(flip.deals))) or flip

    def _confirm_prefixes(self, order: Sequence[int], sizes: Sequence[int]) -> Flip | None:
        return self.confirm(tuple(order[:size]) for size in sizes)


def _choose_sizes(most: int) -> list[int]:
    """Return sizes from 1 to `most`: all, or in geometric steps if there are more than `MAX_SIZES`."""
    if most <= MAX_SIZES:
        return [*range(1, most + 1)]
    return sorted({round(most ** (step / (MAX_SIZES - 1))) for step in range(MAX_SIZES)})
