"""Credit: groups of trajectories in, a number for each trajectory out. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

EPSILON = 1e-8


def group_advantages(rewards: Sequence[float], groups: Sequence[int], *, normalise: bool) -> list[float | None]:
    """GRPO's advantage: the reward less its group's mean, over the group's standard deviation where
    `normalise` is set (Shao et al., 2024; without it, Liu et al., 2025, "Dr. GRPO").

    None for the members of a group in which all rewards are equal: there is nothing to learn from it.
    """
    values, keys = np.asarray(rewards, dtype=np.float64), np.asarray(groups)
    advantages: list[float | None] = [None] * len(values)
    for group in np.unique(keys):
        members = np.flatnonzero(keys == group)
        mine = values[members]
        if mine.max() == mine.min():
            continue
        centred = mine - mine.mean()
        if normalise:
            centred = centred / (mine.std(ddof=1) + EPSILON)
        for index, value in zip(members, centred, strict=True):
            advantages[index] = float(value)
    return advantages
