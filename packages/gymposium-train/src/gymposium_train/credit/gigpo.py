"""GiGPO: GRPO plus a comparison of a group's turns at the same state."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import Field

from gymposium_train.credit.grpo import compute_group_advantages
from gymposium_train.credit.protocol import Credit, CreditSettings, Episode, assign_advantages


class GigpoSettings(CreditSettings):
    """Group-in-group policy optimization (Feng et al., 2025): the advantage of `grpo` plus the turn's advantage over
    other turns at the same state."""

    kind: Literal["gigpo"] = "gigpo"
    """Which credit assignment is used."""
    normalise: bool = True
    """Divide each of the two advantages by its sample standard deviation (n - 1)."""
    gamma: float = Field(default=1.0, gt=0.0, le=1.0)
    """Discount factor per turn."""
    step_weight: float = Field(default=1.0, ge=0.0)
    """Weight of the advantages among turns at the same state. Advantages of whole trajectories have weight 1."""


@dataclass(frozen=True, slots=True)
class Gigpo(Credit):
    """Group-in-group policy optimization (Feng et al., 2025). A turn's advantage is its trajectory's, as in GRPO, plus
    `step_weight` times the turn's own advantage. The turn's advantage compares the rewards from that turn on, among all
    turns of the group at the same state. Small games reach the same states often, so this separates good moves of a
    match from bad ones without a critic. The state is the prompt. If prompts contain the match so far, hardly any two
    are the same.

    A group is dropped if neither comparison finds a difference."""

    settings: GigpoSettings
    needs_groups: ClassVar[bool] = True
    needs_turn_rewards: ClassVar[bool] = True
    compares_states: ClassVar[bool] = True

    def __call__(self, groups: Sequence[Sequence[Episode]]) -> Sequence[Sequence[Episode]]:
        return [self._rate_group(group) for group in groups]

    def _rate_group(self, group: Sequence[Episode]) -> Sequence[Episode]:
        totals = [episode.total for episode in group]
        trajectories = compute_group_advantages(totals, normalise=self.settings.normalise) or [0.0] * len(totals)
        advantages = [
            [advantage + self.settings.step_weight * step for step in steps]
            for advantage, steps in zip(trajectories, self._compute_step_advantages(group), strict=True)
        ]
        return assign_advantages(group, advantages) if any(map(any, advantages)) else group

    def _compute_step_advantages(self, group: Sequence[Episode]) -> list[list[float]]:
        """Return the advantage of each turn among those at the same state, or 0 for the only turn at a state."""
        returns = [compute_returns_to_go(episode.rewards, self.settings.gamma) for episode in group]
        places: dict[Hashable, list[tuple[int, int]]] = {}
        for e, episode in enumerate(group):
            for t, state in enumerate(episode.states):
                places.setdefault(state, []).append((e, t))
        steps = [[0.0] * len(episode.rewards) for episode in group]
        for same in places.values():
            advantages = compute_group_advantages([returns[e][t] for e, t in same], normalise=self.settings.normalise)
            for (e, t), advantage in zip(same, advantages or [0.0] * len(same), strict=True):
                steps[e][t] = advantage
        return steps


def compute_returns_to_go(rewards: Sequence[float], gamma: float) -> list[float]:
    """Return the sum of rewards from each turn on, discounted per turn."""
    returns: list[float] = []
    later = 0.0
    for reward in reversed(rewards):
        later = reward + gamma * later
        returns.append(later)
    return returns[::-1]
