"""Rank players with rank ranges, and group players that cannot be told apart.

Ten players have 45 comparisons. If each had 95% confidence, about two would be wrong. All comparisons therefore hold
jointly: on 95% of boards, no player is surely above an equal or better one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, product
from string import ascii_lowercase

import numpy as np
from numpy.typing import NDArray

from gymposium_arena.ratings.bootstrap import CONFIDENCE
from gymposium_arena.ratings.comparisons import Floats

Above = NDArray[np.bool_]

FEWEST = 15
"""Minimum number of deals to place a player surely above or below another.

With fewer, the bootstrap errs on far more than 5% of boards (`python -m benchmarks.ratings returns`)."""


@dataclass(frozen=True, slots=True)
class Place:
    """A player's rank, with its range and groups."""

    rank: int
    """Rank by value, from 1."""
    best: int
    """Best possible rank: one plus the number of players surely above."""
    worst: int
    """Worst possible rank: the number of players not surely below, including this player."""
    group: str
    """Letters of the player's groups; players that share a letter cannot be told apart."""


def find_surely_above(samples: Floats, deals: NDArray[np.int_]) -> Above:
    """Return whether the row player is surely above the column player, shape (n, n).

    `samples` holds samples of the players' values, shape (samples, n), and `deals` their numbers of deals, shape (n).
    A player with NaN or with fewer than `FEWEST` deals is neither above nor below any other."""
    above = find_positive_pairs(samples[:, :, None] - samples[:, None, :])
    return above & (np.minimum.outer(deals, deals) >= FEWEST)


def find_positive_pairs(margins: Floats) -> Above:
    """Return where the row's margin over the column is surely positive, shape (n, n), jointly with 95% confidence.

    `margins`, shape (samples, n, n), is antisymmetric in its last two axes."""
    n = margins.shape[1]
    one, other = np.triu_indices(n, 1)
    sign = find_signs(margins[:, one, other])
    above = np.zeros((n, n), dtype=bool)
    above[one, other], above[other, one] = sign > 0, sign < 0
    return above


def find_signs(differences: Floats) -> NDArray[np.int_]:
    """Return the signs of k figures, jointly with 95% confidence: 1, -1, or 0 if unsure or NaN.

    `differences` holds samples of the figures, shape (samples, k). A figure's distance from 0 is measured in units of
    the half of its interval towards 0. For a sign, it must exceed the samples' largest such deviation in any figure (a
    studentized bootstrap of the maximum: Romano and Wolf, 2005, Exact and Approximate Stepdown Methods for Multiple
    Hypothesis Testing)."""
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


def assign_places(values: Sequence[float], above: Above) -> list[Place | None]:
    """Return the places of players with these values; None for NaN. Equal values keep their order."""
    ranked = sorted((i for i, value in enumerate(values) if not math.isnan(value)), key=lambda i: -values[i])
    letters = _assign_letters(ranked, above)
    result: list[Place | None] = [None] * len(values)
    for rank, i in enumerate(ranked, start=1):
        result[i] = Place(rank, 1 + int(above[ranked, i].sum()), len(ranked) - int(above[i, ranked].sum()), letters[i])
    return result


def _assign_letters(ranked: Sequence[int], above: Above) -> dict[int, str]:
    """Return each player's group letters, one per maximal group whose members are not surely apart. See compact letter
    display (Piepho, 2004, An Algorithm for a Letter-Based Representation of All-Pairwise Comparisons)."""
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
