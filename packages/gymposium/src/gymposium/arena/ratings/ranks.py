"""Who can be told apart: places with their ranges, and ties as groups."""

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
class Place:
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
    """Shape (n, n): whether the row's player is above the column's in 97.5 % of the samples or more, so that an
    interval of their difference does not reach 0. Shape of `samples`: (samples, n). NaN is above nobody."""
    with np.errstate(invalid="ignore"):
        share = np.stack([(samples[:, [i]] > samples).mean(axis=0) for i in range(samples.shape[1])])
    return np.asarray(share >= (1 + CONFIDENCE) / 2)


def places(values: Sequence[float], above: Above) -> list[Place | None]:
    """The places of players with these values; None where the value is NaN. Equal values stand in the order given."""
    rated = sorted((i for i, value in enumerate(values) if not math.isnan(value)), key=lambda i: -values[i])
    letters = _letters(rated, above)
    found: list[Place | None] = [None] * len(values)
    for rank, i in enumerate(rated, start=1):
        best = 1 + int(above[rated, i].sum())
        worst = len(rated) - int(above[i, rated].sum())
        found[i] = Place(rank, best, worst, letters[i])
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
