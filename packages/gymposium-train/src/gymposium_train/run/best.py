"""The best policy of a run, judged by the points of its learning curve. All points play the same deals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from gymposium.games.protocol import Game
from gymposium.records.scores import Estimate, estimate_gain

Series = Sequence[float | None]
"""A policy's return in each match of an evaluation, or None for a match without a result."""
Returns = Mapping[str, Series]
"""A policy's returns in each game."""


def compute_advantage(games: Sequence[Game], one: Returns, other: Returns) -> float:
    """Return how much better one policy is than another, averaged over games and in units of the interval of the gain
    in equal deals. Above 1 means clearly better. Returns 0 without games. A gain without an interval counts as 1."""
    if not games:
        return 0.0
    return fmean(
        _count_intervals(estimate_gain(other[game.name], one[game.name], game.seats, game.utility_range))
        for game in games
    )


def _count_intervals(gain: Estimate) -> float:
    """Return a gain in units of its distance from the limit on the side of 0."""
    half = gain.value - gain.low if gain.value > 0.0 else gain.high - gain.value
    return gain.value / half if half > 0.0 else float(gain.value > 0.0) - float(gain.value < 0.0)


@dataclass(slots=True)
class BestPoint:
    """The step with the learning curve's best point so far. It is stored in checkpoints."""

    games: Sequence[Game]
    """The games whose returns are compared."""
    step: int
    returns: Returns
    last: Returns
    """The returns at the latest point."""

    def note(self, step: int, returns: Returns) -> bool:
        """Note a new point. Returns True if it is the best so far."""
        self.last = returns
        if compute_advantage(self.games, returns, self.returns) <= 0.0:
            return False
        self.step, self.returns = step, returns
        return True

    @property
    def is_lost(self) -> bool:
        """True if the latest point is clearly worse than the best one."""
        return compute_advantage(self.games, self.returns, self.last) > 1.0

    def state(self) -> dict[str, Any]:
        """Return the state as plain data, for `restored`."""
        return {"step": self.step, "returns": self.returns, "last": self.last}

    @classmethod
    def restored(cls, games: Sequence[Game], state: Mapping[str, Any]) -> BestPoint:
        """Restore what `state` returned. Raises `LookupError` if a game is missing."""
        returns, last = ({game.name: state[key][game.name] for game in games} for key in ("returns", "last"))
        return cls(games, int(state["step"]), returns, last)
