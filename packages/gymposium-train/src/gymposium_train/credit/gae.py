"""Generalised advantage estimation over turns: PPO's credit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gymposium_train.credit.episode import BadEpisode, Credit, Credited, Episode
from gymposium_train.credit.grpo import EPSILON


@dataclass(frozen=True, slots=True)
class Gae(Credit):
    """Generalised advantage estimation (Schulman et al., 2016), where a step is a turn, its value the critic's at the
    prompt. Every turn is a step, those that were paid nothing too. A trajectory that was truncated goes on with the
    critic's value of the prompt that would have come next; one that ended is worth nothing afterwards.

    Groups play no part, and none is dropped. The critic's targets are advantages and values added up, before any
    whitening. Raises `BadEpisode` for an episode without values."""

    gamma: float
    lam: float
    normalise: bool
    """Whiten the advantages over all turns of the batch: mean 0, standard deviation 1 (that of a sample)."""

    def __call__(self, groups: Sequence[Sequence[Episode]]) -> list[list[Credited] | None]:
        raw = [[self.advantages(episode) for episode in group] for group in groups]
        mean, deviation = _moments(raw) if self.normalise else (0.0, 1.0)
        return [
            [
                Credited(
                    tuple((a - mean) / deviation for a in advantages),
                    tuple(a + value for a, value in zip(advantages, episode.values, strict=True)),
                )
                for episode, advantages in zip(group, found, strict=True)
            ]
            for group, found in zip(groups, raw, strict=True)
        ]

    def advantages(self, episode: Episode) -> list[float]:
        """One a turn, as they are before whitening."""
        if not episode.values:
            raise BadEpisode("GAE needs the critic's value of each turn, and this episode has none: set up a critic.")
        found: list[float] = []
        later, following = 0.0, episode.after
        for reward, value in zip(reversed(episode.rewards), reversed(episode.values), strict=True):
            surprise = reward + self.gamma * following - value
            later = surprise + self.gamma * self.lam * later
            following = value
            found.append(later)
        return found[::-1]


def _moments(advantages: Sequence[Sequence[Sequence[float]]]) -> tuple[float, float]:
    """Mean and standard deviation over all turns, the latter large enough to divide by."""
    values = np.array([a for group in advantages for turns in group for a in turns])
    if len(values) < 2:
        return float(values.sum()), 1.0
    return float(values.mean()), float(values.std(ddof=1) + EPSILON)
