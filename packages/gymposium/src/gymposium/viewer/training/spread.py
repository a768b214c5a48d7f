"""How the rewards of groups are spread, as dots: a column for each group, the larger a dot, the more got as much."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from gymposium.runs.samples import KeptGroup

BINS = 48
"""Rewards that are closer than one part in so many are one dot."""


@dataclass(frozen=True, slots=True)
class Dot:
    """So many trajectories of a group got about as much. Places are between 0 and 1, sizes are shares of the group."""

    height: float
    size: float
    words: str


@dataclass(frozen=True, slots=True)
class Column:
    """One group."""

    step: int
    number: int
    tied: bool
    dots: Sequence[Dot]


@dataclass(frozen=True, slots=True)
class Spread:
    """All of them on one scale."""

    low: float
    high: float
    columns: Sequence[Column]


def spread(groups: Sequence[KeptGroup]) -> Spread:
    """The dots of some groups, of one at least."""
    rewards = [one.reward for group in groups for one in group.trajectories]
    low, high = min(rewards), max(rewards)
    return Spread(low, high, [Column(g.step, g.number, g.tied, _dots(g, low, high)) for g in groups])


def _dots(group: KeptGroup, low: float, high: float) -> list[Dot]:
    width = (high - low) / BINS or 1.0
    lots = Counter(round((one.reward - low) / width) for one in group.trajectories)
    everybody = len(group.trajectories)
    return [
        Dot(
            height=lot / BINS if high > low else 0.5,
            size=math.sqrt(count / everybody),
            words=f"step {group.step}, group {group.number}: {count} of {everybody} got {low + lot * width:.4g}",
        )
        for lot, count in sorted(lots.items())
    ]
