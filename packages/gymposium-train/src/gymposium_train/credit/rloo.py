"""RLOO: a trajectory's reward relative to the mean of its group's other rewards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from gymposium.errors import BadOption
from gymposium_train.credit.grpo import compute_group_advantages, share_advantages
from gymposium_train.credit.protocol import Credit, CreditSettings, Episode


class RlooSettings(CreditSettings):
    """Leave-one-out baseline (Ahmadian et al., 2024): the reward minus the mean of the group's other rewards."""

    kind: Literal["rloo"] = "rloo"
    """Which credit assignment is used."""


@dataclass(frozen=True, slots=True)
class Rloo(Credit):
    """REINFORCE with a leave-one-out baseline (Kool et al., 2019; Ahmadian et al., 2024). The baseline is the mean of
    the group's other rewards, so no trajectory is part of its baseline. Each turn has its trajectory's advantage.
    Groups with equal rewards and groups of one are dropped. Raises `BadOption` if all groups have one trajectory."""

    settings: RlooSettings
    needs_groups: ClassVar[bool] = True
    drops_ties: ClassVar[bool] = True

    def __call__(self, groups: Sequence[Sequence[Episode]]) -> Sequence[Sequence[Episode]]:
        if groups and all(len(group) == 1 for group in groups):
            raise BadOption(
                "RLOO compares the trajectories of a group, but every group here has only one. Set a group size of 2 "
                "or more, or choose a baseline that needs no group."
            )
        return [
            share_advantages(group, compute_leave_one_out([episode.total for episode in group])) for group in groups
        ]


def compute_leave_one_out(rewards: Sequence[float]) -> list[float] | None:
    """Return each reward minus the mean of the other rewards, or None if all are equal."""
    centered, n = compute_group_advantages(rewards, normalise=False), len(rewards)
    if centered is None:
        return None
    # r - (sum - r) / (n - 1) = (r - mean) n / (n - 1)
    return [advantage * n / (n - 1) for advantage in centered]
