"""GiGPO: groups within groups, of the turns at which the same state was seen."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from gymposium_train.credit.episode import Credit, Credited, Episode
from gymposium_train.credit.grpo import group_advantages


@dataclass(frozen=True, slots=True)
class Gigpo(Credit):
    """Group-in-group policy optimization (Feng et al., 2025): a turn's advantage is its trajectory's, as in GRPO, and
    `weight` times its own among all turns of the group at the same state, by what was paid from there on. Small
    games come to the same states again and again, so this says which of a match's moves were the good ones, without
    a critic. The state is what the player saw: with a history that only grows, few are ever the same.

    A group is dropped where neither kind of comparison tells anything apart."""

    gamma: float
    """What a reward counts for, one turn later."""
    weight: float
    """Of the comparison within states; that of whole trajectories weighs 1."""
    normalise: bool
    """Over the standard deviation, each kind by its own: that of a sample (n - 1)."""

    def __call__(self, groups: Sequence[Sequence[Episode]]) -> list[list[Credited] | None]:
        return [self._group(group) for group in groups]

    def _group(self, group: Sequence[Episode]) -> list[Credited] | None:
        whole = group_advantages([episode.total for episode in group], normalise=self.normalise)
        credited = [
            Credited(tuple(advantage + self.weight * step for step in turns))
            for advantage, turns in zip(whole or [0.0] * len(group), self._steps(group), strict=True)
        ]
        return credited if any(any(one.advantages) for one in credited) else None

    def _steps(self, group: Sequence[Episode]) -> list[list[float]]:
        """The advantage of each turn among those at the same state; 0 where there is none to compare with."""
        returns = [returns_to_go(episode.rewards, self.gamma) for episode in group]
        places: dict[Hashable, list[tuple[int, int]]] = {}
        for e, episode in enumerate(group):
            for t, state in enumerate(episode.states):
                places.setdefault(state, []).append((e, t))
        steps = [[0.0] * len(episode.rewards) for episode in group]
        for same in places.values():
            advantages = group_advantages([returns[e][t] for e, t in same], normalise=self.normalise)
            for (e, t), advantage in zip(same, advantages or [0.0] * len(same), strict=True):
                steps[e][t] = advantage
        return steps


def returns_to_go(rewards: Sequence[float], gamma: float) -> list[float]:
    """What is paid from each turn on, discounted by turns."""
    found: list[float] = []
    later = 0.0
    for reward in reversed(rewards):
        later = reward + gamma * later
        found.append(later)
    return found[::-1]
