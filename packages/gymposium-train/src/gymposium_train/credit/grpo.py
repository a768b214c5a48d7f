"""Credit: the rewards of a group in, a number for each of its trajectories out. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

EPSILON = 1e-8


def group_advantages(rewards: Sequence[float], *, normalise: bool) -> list[float] | None:
    """GRPO's advantage: the reward less its group's mean, over the group's standard deviation where
    `normalise` is set (Shao et al., 2024; without it, Liu et al., 2025, "Dr. GRPO").

    None for a group in which all rewards are equal: there is nothing to learn from it.
    """
    values = np.asarray(rewards, dtype=np.float64)
    if values.max() == values.min():
        return None
    centred = values - values.mean()
    if normalise:
        centred = centred / (values.std(ddof=1) + EPSILON)
    return [float(value) for value in centred]
