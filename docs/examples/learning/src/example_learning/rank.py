"""A credit: the rank of a trajectory's reward in its group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import Field

from gymposium_train.credit.protocol import Credit, CreditSettings, RatedGroup


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

    def __call__(self, groups: Sequence[RatedGroup]) -> list[RatedGroup]:
        return [self._group(group) for group in groups]

    def _group(self, group: RatedGroup) -> RatedGroup:
        totals = [episode.total for episode in group.episodes]
        if len(set(totals)) == 1:
            return group.assign(None)  # nothing to learn from
        scale = self.settings.scale / (len(totals) - 1)
        ranks = [sum((total > other) - (total < other) for other in totals) for total in totals]
        return group.assign(
            [(scale * rank,) * len(one.rewards) for one, rank in zip(group.episodes, ranks, strict=True)]
        )
