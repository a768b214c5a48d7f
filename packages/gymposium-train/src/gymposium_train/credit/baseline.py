"""REINFORCE with the batch mean as its baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gymposium_train.credit.grpo import compute_group_advantages
from gymposium_train.credit.protocol import Credit, CreditSettings, Episode, assign_advantages


class BaselineSettings(CreditSettings):
    """Batch baseline (Williams, 1992): the reward minus the mean of all matches of the same game and seat in the
    step."""

    kind: Literal["baseline"] = "baseline"
    """Which credit assignment is used."""
    normalise: bool = True
    """Divide by the sample standard deviation (n - 1) of the rewards for the same game and seat."""


@dataclass(frozen=True, slots=True)
class Baseline(Credit):
    """The reward minus the mean over all trajectories of the same role in the batch (Williams, 1992), ignoring groups.
    Each turn has its trajectory's advantage. A group is dropped only if, for every role in it, all rewards in the batch
    are equal."""

    settings: BaselineSettings

    def __call__(self, groups: Sequence[Sequence[Episode]]) -> Sequence[Sequence[Episode]]:
        totals: dict[str, list[float]] = {}
        for episode in (episode for group in groups for episode in group):
            totals.setdefault(episode.role, []).append(episode.total)
        normalise = self.settings.normalise
        advantages = {role: compute_group_advantages(rewards, normalise=normalise) for role, rewards in totals.items()}
        # a role's advantages are in the order of its episodes in the batch
        remaining = {role: iter(values or [0.0] * len(totals[role])) for role, values in advantages.items()}
        credited: list[Sequence[Episode]] = []
        for group in groups:
            of_group = [(next(remaining[episode.role]),) * len(episode.rewards) for episode in group]
            tied = all(advantages[episode.role] is None for episode in group)
            credited.append(group if tied else assign_advantages(group, of_group))
        return credited
