"""A plot of rewards, with a column of dots per group. A dot is larger for more trajectories."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from gymposium.runs.samples import SampledGroup

BINS = 48
"""Number of bins from the lowest to the highest reward. A group's rewards in one bin form one dot."""


@dataclass(frozen=True, slots=True)
class Dot:
    """A group's trajectories with about the same reward."""

    height: float
    """The reward, from 0 (the lowest of all groups) to 1 (the highest)."""
    size: float
    """Square root of the share of the group's trajectories in this dot."""
    words: str


@dataclass(frozen=True, slots=True)
class Column:
    """The dots of one group."""

    step: int
    number: int
    tied: bool
    dots: Sequence[Dot]


@dataclass(frozen=True, slots=True)
class Spread:
    """The columns for several groups, on a common scale."""

    low: float
    high: float
    columns: Sequence[Column]


def compute_spread(groups: Sequence[SampledGroup]) -> Spread:
    """Return the plot data for one or more groups."""
    rewards = [trajectory.reward for group in groups for trajectory in group.trajectories]
    low, high = min(rewards), max(rewards)
    return Spread(low, high, [Column(g.step, g.number, g.tied, _make_dots(g, low, high)) for g in groups])


def _make_dots(group: SampledGroup, low: float, high: float) -> list[Dot]:
    width = (high - low) / BINS or 1.0
    bins = Counter(round((trajectory.reward - low) / width) for trajectory in group.trajectories)
    size = len(group.trajectories)
    return [
        Dot(
            height=place / BINS if high > low else 0.5,
            size=math.sqrt(count / size),
            words=f"step {group.step}, group {group.number}: {count} of {size} got {low + place * width:.4g}",
        )
        for place, count in sorted(bins.items())
    ]
