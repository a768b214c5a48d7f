"""The best policy of a run, judged by the points of its learning curve."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

Returns = Mapping[str, tuple[float, float]]
"""A policy's mean return in each game, and half the width of its confidence interval."""


def read_returns(scores: Mapping[str, Any]) -> Returns:
    """Return the returns in the scores of each game, as stored in the results."""
    found = {}
    for game, score in scores.items():
        value, low, high = score["return"]
        found[game] = value, 0.0 if low is None or high is None else (high - low) / 2.0
    return found


def compute_advantage(one: Returns, other: Returns) -> float:
    """Return how much better one policy is than another, averaged over games and in units of the difference's interval.
    Above 1 means clearly better. Returns 0 without games. A difference without an interval counts as 1."""
    if not one:
        return 0.0
    return fmean(_compute_units(one[game], other[game]) for game in one)


def _compute_units(one: tuple[float, float], other: tuple[float, float]) -> float:
    difference, half = one[0] - other[0], math.hypot(one[1], other[1])
    return difference / half if half else float(difference > 0) - float(difference < 0)


@dataclass(slots=True)
class BestPoint:
    """The step with the learning curve's best point so far. It is stored in checkpoints."""

    step: int
    returns: Returns
    last: Returns
    """The returns at the latest point."""

    def note(self, step: int, returns: Returns) -> bool:
        """Note a new point. Returns True if it is the best so far."""
        self.last = returns
        if compute_advantage(returns, self.returns) <= 0.0:
            return False
        self.step, self.returns = step, returns
        return True

    @property
    def is_lost(self) -> bool:
        """True if the latest point is clearly worse than the best one."""
        return compute_advantage(self.returns, self.last) > 1.0

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> BestPoint:
        """Restore what `asdict` returned."""
        returns, last = ({game: tuple(found) for game, found in state[key].items()} for key in ("returns", "last"))
        return cls(int(state["step"]), returns, last)
