"""Generalized advantage estimation over turns: PPO's credit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from gymposium_train.credit.grpo import EPSILON
from gymposium_train.credit.protocol import BadEpisode, Credit, CreditSettings, Critic, Episode, assign_advantages


class GaeSettings(CreditSettings):
    """Generalized advantage estimation over turns (Schulman et al., 2016), with a critic. Combined with the objective
    `ppo`, this is PPO."""

    kind: Literal["gae"] = "gae"
    """Which credit assignment is used."""
    normalise: bool = True
    """Whiten the advantages over all turns of the batch: mean 0, sample standard deviation 1 (n - 1)."""
    gamma: float = Field(default=0.9, gt=0.0, le=1.0)
    """Discount factor per turn."""
    lam: float = Field(default=0.8, ge=0.0, le=1.0)
    """The parameter lambda, applied per turn."""
    critic: Critic = Field(default_factory=Critic)
    """The critic that estimates the value of each turn."""


@dataclass(frozen=True, slots=True)
class Gae(Credit):
    """Generalized advantage estimation (Schulman et al., 2016). Every turn is a step, even without a reward. Its value
    is the critic's at the prompt. A truncated trajectory continues with the critic's value of the next prompt. The
    value after the end is 0.

    Groups have no effect, and none is dropped. The critic's targets are the advantages before whitening plus the
    values. Raises `BadEpisode` for an episode without values."""

    settings: GaeSettings
    needs_turn_rewards: ClassVar[bool] = True

    @property
    def critic(self) -> Critic:
        return self.settings.critic

    def __call__(self, groups: Sequence[Sequence[Episode]]) -> Sequence[Sequence[Episode]]:
        raw = [[self.advantages(episode) for episode in group] for group in groups]
        mean, deviation = _compute_moments(raw) if self.settings.normalise else (0.0, 1.0)
        return [
            assign_advantages(
                group,
                [[(a - mean) / deviation for a in advantages] for advantages in of_group],
                [
                    [a + value for a, value in zip(advantages, episode.values, strict=True)]
                    for episode, advantages in zip(group, of_group, strict=True)
                ],
            )
            for group, of_group in zip(groups, raw, strict=True)
        ]

    def advantages(self, episode: Episode) -> list[float]:
        """Return one advantage per turn, before whitening."""
        if not episode.values:
            raise BadEpisode("GAE needs the critic's value of each turn, but this episode has none. Set up a critic.")
        gamma, lam = self.settings.gamma, self.settings.lam
        advantages: list[float] = []
        later, following = 0.0, episode.after
        for reward, value in zip(reversed(episode.rewards), reversed(episode.values), strict=True):
            td_error = reward + gamma * following - value
            later = td_error + gamma * lam * later
            following = value
            advantages.append(later)
        return advantages[::-1]


def _compute_moments(advantages: Sequence[Sequence[Sequence[float]]]) -> tuple[float, float]:
    """Return the mean and the standard deviation over all turns. `EPSILON` is added to the deviation, so it is never
    0."""
    values = np.array([a for group in advantages for turns in group for a in turns])
    if len(values) < 2:
        return float(values.sum()), 1.0
    return float(values.mean()), float(values.std(ddof=1) + EPSILON)
