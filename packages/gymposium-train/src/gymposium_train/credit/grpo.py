"""GRPO: a trajectory's reward relative to its group's mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from gymposium_train.credit.protocol import Credit, CreditSettings, Episode, assign_advantages

EPSILON = 1e-8
"""Added to standard deviations before division."""


class GrpoSettings(CreditSettings):
    """Group-relative policy optimization (Shao et al., 2024): the reward minus its group's mean."""

    kind: Literal["grpo"] = "grpo"
    """Which credit assignment is used."""
    normalise: bool = True
    """Divide by the group's sample standard deviation (n - 1, as in TRL). This favors groups that are nearly all won or
    nearly all lost. Without it, this is Dr. GRPO (Liu et al., 2025)."""


@dataclass(frozen=True, slots=True)
class Grpo(Credit):
    """Group-relative policy optimization (Shao et al., 2024): each turn has its trajectory's advantage. Groups with
    equal rewards are dropped."""

    settings: GrpoSettings
    needs_groups: ClassVar[bool] = True
    drops_ties: ClassVar[bool] = True

    def __call__(self, groups: Sequence[Sequence[Episode]]) -> Sequence[Sequence[Episode]]:
        return [self._rate_group(group) for group in groups]

    def _rate_group(self, group: Sequence[Episode]) -> Sequence[Episode]:
        totals = [episode.total for episode in group]
        return share_advantages(group, compute_group_advantages(totals, normalise=self.settings.normalise))


def compute_group_advantages(rewards: Sequence[float], *, normalise: bool) -> list[float] | None:
    """Return GRPO's advantages: the rewards minus their mean, divided by their standard deviation if `normalise` is set
    (Shao et al., 2024; without it, Liu et al., 2025, "Dr. GRPO"). Returns None if all rewards are equal, because such a
    group teaches nothing."""
    values = np.asarray(rewards, dtype=np.float64)
    if values.max() == values.min():
        return None
    centered = values - values.mean()
    if normalise:
        centered = centered / (values.std(ddof=1) + EPSILON)
    return [float(value) for value in centered]


def share_advantages(group: Sequence[Episode], advantages: Sequence[float] | None) -> Sequence[Episode]:
    """Return a group with each trajectory's advantage, if there are any, shared by all its turns."""
    if advantages is None:
        return group
    return assign_advantages(group, [(a,) * len(one.rewards) for one, a in zip(group, advantages, strict=True)])
