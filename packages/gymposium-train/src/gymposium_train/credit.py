"""Credit: groups of trajectories in, a number for each of their turns out. Pure functions.

Both kinds compare a reward with what else happened in the same group, and give None for a group in which
all rewards are equal: there is nothing to learn from it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

EPSILON = 1e-8
SHRINKAGE = 4.0
"""A state's baseline is drawn to its group's mean as if so many more turns had stood there."""


def group_advantages(rewards: Sequence[float], groups: Sequence[int], *, normalise: bool) -> list[float | None]:
    """GRPO's advantage of each trajectory: the reward less its group's mean, over the group's standard
    deviation where `normalise` is set (Shao et al., 2024; without it, Liu et al., 2025, "Dr. GRPO")."""
    return [
        None if spread is None else (reward - mean) / spread
        for reward, (mean, spread) in zip(rewards, _means_and_spreads(rewards, groups, normalise), strict=True)
    ]


def state_advantages(
    rewards: Sequence[float], groups: Sequence[int], states: Sequence[Sequence[Hashable]], *, normalise: bool
) -> list[list[float] | None]:
    """The advantage of each turn of each trajectory against the turns of its group that stood in the same
    state (the step groups of GiGPO; Feng et al., 2025): the reward less that state's mean. What was won or
    lost before the turn cancels out. `states[i]` names the states of trajectory i, one a turn.

    A state that is met once or twice says little about itself, so its mean is shrunk to the group's.
    """
    found: list[list[float] | None] = []
    sums: dict[tuple[int, Hashable], tuple[float, int]] = {}
    for reward, group, mine in zip(rewards, groups, states, strict=True):
        for state in mine:
            total, count = sums.get((group, state), (0.0, 0))
            sums[group, state] = (total + reward, count + 1)
    measures = _means_and_spreads(rewards, groups, normalise)
    for reward, group, mine, (mean, spread) in zip(rewards, groups, states, measures, strict=True):
        if spread is None:
            found.append(None)
            continue
        advantages = []
        for state in mine:
            total, count = sums[group, state]
            baseline = (total + SHRINKAGE * mean) / (count + SHRINKAGE)
            advantages.append((reward - baseline) / spread)
        found.append(advantages)
    return found


def _means_and_spreads(
    rewards: Sequence[float], groups: Sequence[int], normalise: bool
) -> list[tuple[float, float | None]]:
    """For each trajectory its group's mean and what to divide by; None where all rewards are equal."""
    values, keys = np.asarray(rewards, dtype=np.float64), np.asarray(groups)
    measures: dict[int, tuple[float, float | None]] = {}
    for group in set(groups):
        mine = values[keys == group]
        if mine.max() == mine.min():
            measures[group] = (float(mine[0]), None)
        else:
            measures[group] = (float(mine.mean()), float(mine.std(ddof=1)) + EPSILON if normalise else 1.0)
    return [measures[group] for group in groups]
