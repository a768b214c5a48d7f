"""GRPO: what a trajectory got against what its group got."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gymposium_train.credit.episode import Credit, Credited, Episode

EPSILON = 1e-8


def group_advantages(rewards: Sequence[float], *, normalise: bool) -> list[float] | None:
    """GRPO's advantage: the reward less its group's mean, over the group's standard deviation where
    `normalise` is set (Shao et al., 2024; without it, Liu et al., 2025, "Dr. GRPO").

    None for a group in which all rewards are equal: there is nothing to learn from it.
    """
    values = np.asarray(rewards, dtype=np.float64)
    if values.max() == values.min():
        return None
    centred = values - values.mean()
    if normalise:
        centred = centred / (values.std(ddof=1) + EPSILON)
    return [float(value) for value in centred]


@dataclass(frozen=True, slots=True)
class Grpo(Credit):
    """Group-relative policy optimization (Shao et al., 2024): each turn has its trajectory's advantage. Groups in
    which all got the same are dropped."""

    normalise: bool
    """Over the group's standard deviation, which favours groups that are nearly all won or nearly all lost (Liu et
    al., 2025). That of a sample (n - 1), as in TRL."""

    def __call__(self, groups: Sequence[Sequence[Episode]]) -> list[list[Credited] | None]:
        return [spread(group, group_advantages([e.total for e in group], normalise=self.normalise)) for group in groups]


def spread(group: Sequence[Episode], advantages: Sequence[float] | None) -> list[Credited] | None:
    """Each trajectory's advantage to all of its turns; None where there are none."""
    if advantages is None:
        return None
    return [Credited((a,) * len(episode.rewards)) for episode, a in zip(group, advantages, strict=True)]
