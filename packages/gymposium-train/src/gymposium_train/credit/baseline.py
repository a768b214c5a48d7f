"""REINFORCE with the mean of the batch as its baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gymposium_train.credit.episode import Credit, Credited, Episode
from gymposium_train.credit.grpo import group_advantages


@dataclass(frozen=True, slots=True)
class Baseline(Credit):
    """The reward less the mean over all trajectories of the same role in the batch (Williams, 1992), whatever their
    groups. Each turn has its trajectory's advantage. A group is dropped only where all its trajectories' roles got
    the same throughout the batch."""

    normalise: bool
    """Over the standard deviation of the role's rewards, that of a sample (n - 1)."""

    def __call__(self, groups: Sequence[Sequence[Episode]]) -> list[list[Credited] | None]:
        totals: dict[str, list[float]] = {}
        for episode in (episode for group in groups for episode in group):
            totals.setdefault(episode.role, []).append(episode.total)
        advantages = {role: group_advantages(found, normalise=self.normalise) for role, found in totals.items()}
        # the totals of a role were gathered in the order in which its advantages are now handed out
        rest = {role: iter(found or [0.0] * len(totals[role])) for role, found in advantages.items()}
        credited: list[list[Credited] | None] = []
        for group in groups:
            shares = [Credited((next(rest[episode.role]),) * len(episode.rewards)) for episode in group]
            credited.append(None if all(advantages[episode.role] is None for episode in group) else shares)
        return credited
