"""Who can be told apart: places with their ranges, and ties as groups.

Among ten players there are 45 comparisons, of which two would go wrong if each were right in 95 %. So they are right
together: in 95 % of boards nobody is put above a player that is better or as good. All that a place says rests on this.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, product
from string import ascii_lowercase

import numpy as np
from numpy.typing import NDArray

from gymposium.arena.ratings.comparisons import Floats
from gymposium.arena.ratings.scale import CONFIDENCE

Above = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class RankedPlace:
    """Where a player stands."""

    rank: int
    """By its value, from 1."""
    best: int
    """One more than the players that are surely above."""
    worst: int
    """As many as are not surely below, itself included."""
    group: str
    """Letters: players that share one cannot be told apart."""


def surely_above(samples: Floats) -> Above:
    """Shape (n, n): whether the row's player is above the column's, by its samples of shape (samples, n). NaN is above
    nobody."""
    n = samples.shape[1]
    one, other = np.triu_indices(n, 1)
    sign = surely(samples[:, one] - samples[:, other])
    above = np.zeros((n, n), dtype=bool)
    above[one, other], above[other, one] = sign > 0, sign < 0
    return above


def surely(differences: Floats) -> NDArray[np.int_]:
    """Which of k figures are surely above 0 (1), which below (-1), and which are neither or NaN (0), by samples of them
    of shape (samples, k). All are right together in 95 %.

    How far a figure lies from 0 is measured by the distance from its median to the end of its own interval on that
    side, and must be more than what the samples reach in any of the figures (a studentized bootstrap of the greatest:
    Romano and Wolf, 2005, Exact and Approximate Stepdown Methods for Multiple Hypothesis Testing)."""
    known = ~np.isnan(differences).any(axis=0)
    sure = np.zeros(differences.shape[1], dtype=int)
    if not known.any():
        return sure
    sign = np.where(np.median(differences[:, known], axis=0) < 0.0, -1, 1)
    towards = sign * differences[:, known]  # 0 lies below
    middle, end = np.quantile(towards, [0.5, (1 - CONFIDENCE) / 2], axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        reached = np.nan_to_num((middle - towards) / (middle - end), nan=0.0).max(axis=1)
        away = np.nan_to_num(middle / (middle - end), nan=0.0, posinf=np.inf)
    sure[known] = np.where(away > np.quantile(reached, (1 + CONFIDENCE) / 2), sign, 0)
    return sure


def places(values: Sequence[float], above: Above) -> list[RankedPlace | None]:
    """The places of players with these values; None where the value is NaN. Equal values stand in the order given."""
    rated = sorted((i for i, value in enumerate(values) if not math.isnan(value)), key=lambda i: -values[i])
    letters = _letters(rated, above)
    found: list[RankedPlace | None] = [None] * len(values)
    for rank, i in enumerate(rated, start=1):
        best = 1 + int(above[rated, i].sum())
        worst = len(rated) - int(above[i, rated].sum())
        found[i] = RankedPlace(rank, best, worst, letters[i])
    return found


def _letters(ranked: Sequence[int], above: Above) -> dict[int, str]:
    """A letter for each largest group in which nobody is surely above another, from the top: the compact letter display
    (Piepho, 2004, An Algorithm for a Letter-Based Representation of All-Pairwise Comparisons)."""
    groups: list[set[int]] = [set(ranked)]
    for better, one in enumerate(ranked):
        for other in ranked[better + 1 :]:
            if not (above[one, other] or above[other, one]):
                continue
            split = []
            for group in groups:
                split += [group - {one}, group - {other}] if {one, other} <= group else [group]
            groups = [
                group
                for place, group in enumerate(split)
                if not any(group < larger or (group == larger and at < place) for at, larger in enumerate(split))
            ]
    at = {one: place for place, one in enumerate(ranked)}
    groups.sort(key=lambda group: sorted(at[one] for one in group))
    names = ("".join(letters) for length in count(1) for letters in product(ascii_lowercase, repeat=length))
    found = dict.fromkeys(ranked, "")
    for group, name in zip(groups, names):
        for one in group:
            found[one] += name
    return found
