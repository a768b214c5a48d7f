"""A credit: the rank of a trajectory's reward in its group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import Field

from gymposium_train.credit.protocol import Credit, CreditSettings, Episode, assign_advantages


class RankSettings(CreditSettings):
    """The rank of a trajectory's reward in its group."""

    kind: Literal["rank"] = "rank"
    """Which credit assignment is used."""
    scale: float = Field(default=1.0, gt=0.0)
    """The advantage of the best trajectory in a group."""


@dataclass(frozen=True, slots=True)
class Rank(Credit):
    """Advantages from -`scale` to `scale`, evenly by rank. Trajectories with equal rewards share the mean rank."""

    settings: RankSettings
    needs_groups: ClassVar[bool] = True

    def __call__(self, groups: Sequence[Sequence[Episode]]) -> Sequence[Sequence[Episode]]:
        return [self._group(group) for group in groups]

    def _group(self, group: Sequence[Episode]) -> Sequence[Episode]:
        totals = [episode.total for episode in group]
        if len(set(totals)) == 1:
            return group  # without advantages: nothing to learn from
        scale = self.settings.scale / (len(totals) - 1)
        ranks = [sum((total > other) - (total < other) for other in totals) for total in totals]
        advantages = [(scale * rank,) * len(one.rewards) for one, rank in zip(group, ranks, strict=True)]
        return assign_advantages(group, advantages)
