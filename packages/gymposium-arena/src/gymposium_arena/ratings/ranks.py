"""Ranks with their ranges, and groups of players that cannot be told apart.

Ten players have 45 comparisons; if each were right with 95 % confidence, two would be wrong. So all
comparisons hold jointly: on 95 % of boards, no player is placed above an equal or better one. All
statements about ranks rest on this.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, product
from string import ascii_lowercase

import numpy as np
from numpy.typing import NDArray

from gymposium_arena.ratings.comparisons import Floats
from gymposium_arena.ratings.scale import CONFIDENCE

Above = NDArray[np.bool_]

FEWEST = 15
"""Fewest deals to place a player surely above or below another. With fewer, the bootstrap places players
above equal ones on far more than 5 % of boards (`python -m benchmarks.ratings returns`)."""


@dataclass(frozen=True, slots=True)
class Place:
    """The rank of a player, with its range and its groups."""

    rank: int
    """The rank by value, from 1."""
    best: int
    """The best possible rank: one plus the number of players that are surely above."""
    worst: int
    """The worst possible rank: the number of players that are not surely below, this one included."""
    group: str
    """The letters of the player's groups: players that share a letter cannot be told apart."""


def surely_above(samples: Floats, deals: NDArray[np.int_]) -> Above:
    """Return whether the row player is surely above the column player, shape (n, n), judged from `samples` of their
    values, shape (samples, n). A player with NaN, or with fewer than `FEWEST` of these `deals`, shape (n), is above
    none."""
    above = surely_positive_pairs(samples[:, :, None] - samples[:, None, :])
    return above & (np.minimum.outer(deals, deals) >= FEWEST)


def surely_positive_pairs(margins: Floats) -> Above:
    """Return where the row's margin over the column is surely positive, shape (n, n). `margins` of shape (samples, n,
    n) is antisymmetric in its last two axes. All entries hold jointly with 95 % confidence."""
    n = margins.shape[1]
    one, other = np.triu_indices(n, 1)
    sign = surely(margins[:, one, other])
    above = np.zeros((n, n), dtype=bool)
    above[one, other], above[other, one] = sign > 0, sign < 0
    return above


def surely(differences: Floats) -> NDArray[np.int_]:
    """Return the sign of each of k figures where it is sure: 1, -1, or 0 if it is neither or NaN. `differences` holds
    samples of them, shape (samples, k). All signs hold jointly with 95 % confidence.

    A figure's distance from 0 is measured in units of the distance from its median to the end of its interval towards
    0. It must exceed the largest such distance that the samples reach in any of the figures (a studentized
    bootstrap of the maximum: Romano and Wolf, 2005, Exact and Approximate Stepdown Methods for Multiple Hypothesis
    Testing)."""
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


def places(values: Sequence[float], above: Above) -> list[Place | None]:
    """Return the places of players with these values, None where a value is NaN. Equal values keep their order."""
    ranked = sorted((i for i, value in enumerate(values) if not math.isnan(value)), key=lambda i: -values[i])
    letters = _letters(ranked, above)
    result: list[Place | None] = [None] * len(values)
    for rank, i in enumerate(ranked, start=1):
        result[i] = Place(rank, 1 + int(above[ranked, i].sum()), len(ranked) - int(above[i, ranked].sum()), letters[i])
    return result


def _letters(ranked: Sequence[int], above: Above) -> dict[int, str]:
    """Return each player's letters: one for each maximal group where no player is surely above another, from the top
    (compact letter display: Piepho, 2004, An Algorithm for a Letter-Based Representation of All-Pairwise
    Comparisons)."""
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
    rank_of = {player: rank for rank, player in enumerate(ranked)}
    groups.sort(key=lambda group: sorted(rank_of[player] for player in group))
    names = ("".join(letters) for length in count(1) for letters in product(ascii_lowercase, repeat=length))
    named = list(zip(groups, names))
    return {player: "".join(name for group, name in named if player in group) for player in ranked}
