"""The protocol of rewards: functions from a group of trajectories to a reward for each of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol

from gymposium.errors import BadReward, Unrated
from gymposium.records.trajectories import Trajectory

if TYPE_CHECKING:
    from concurrent.futures import Future

_CLOSE = 1e-9
"""Tolerance between the sum of the turns' rewards and the total, relative to the largest of them or to 1. It covers
rounding."""


@dataclass(frozen=True, slots=True)
class Reward:
    """The reward of one trajectory."""

    total: float
    """The value that is learned from."""
    parts: Mapping[str, float] = field(default_factory=dict)
    """Named values that are reported beside the total; they need not add up to it."""
    turns: tuple[float, ...] | None = None
    """The split of the total over the seat's turns, in order; the values add up to the total. None if the last turn
    gets all of it."""
    cut: float = 0.0
    """The part of the total that comes from truncation: the forfeit that stands for the rest of the match. A critic's
    estimate of the rest replaces it."""


class HasTurns(Protocol):
    """Protocol of objects with turns, such as trajectories."""

    @property
    def turns(self) -> Sequence[object]:
        """The turns of one seat, in order."""


def turn_rewards(reward: Reward, trajectory: HasTurns) -> tuple[float, ...]:
    """The reward of each turn; () if there are no turns."""
    if reward.turns is not None:
        return reward.turns
    before_the_last = len(trajectory.turns) - 1
    return () if before_the_last < 0 else (*(0.0,) * before_the_last, reward.total)


RewardFunction = Callable[[Sequence[Trajectory]], Sequence[Reward]]
"""A function that returns one reward for each trajectory of a group, in order. The trajectories of a group share a
baseline: the same game, seat, deal and opponents. A reward may compare them."""


class Rater(Protocol):
    """Optional protocol: a reward function that rates several groups at once, such as one that asks a server."""

    def submit(self, group: Sequence[Trajectory], /) -> Future[Sequence[Reward]]:
        """Start to rate one group. The future raises the exceptions that the function would raise."""


@dataclass(frozen=True, slots=True)
class CheckedReward:
    """A reward function with its name, whose results are checked."""

    name: str
    """The text by which the reward was made."""
    function: RewardFunction

    def __call__(self, group: Sequence[Trajectory]) -> list[Reward]:
        """The rewards of one group.

        Raises `BadReward` unless there is a `Reward` for each trajectory, all values are finite, the turns add up to
        the total and the parts of all rewards have the same names; `Unrated` if the function raises it."""
        return self._checked(group, self.function(tuple(group)))

    def rate(self, groups: Sequence[Sequence[Trajectory]]) -> list[list[Reward] | Unrated]:
        """The rewards of each group, or the `Unrated` that the function raised for it. A `Rater` rates all groups at
        once. Raises `BadReward` as a call does."""
        submit = getattr(self.function, "submit", None)
        begun: list[Future[Sequence[Reward]]] = []
        try:
            if submit is not None:
                begun += map(submit, map(tuple, groups))
                return [self._rated(group, future.result) for group, future in zip(groups, begun, strict=True)]
            return [self._rated(group, partial(self.function, tuple(group))) for group in groups]
        finally:
            for future in begun:
                future.cancel()

    def remarks(self) -> list[str]:
        """The remarks of the function on its work so far, if it has the method `remarks`, as players may."""
        remarks = getattr(self.function, "remarks", None)
        return [] if remarks is None else list(remarks())

    def _rated(self, group: Sequence[Trajectory], ask: Callable[[], Sequence[Reward]]) -> list[Reward] | Unrated:
        try:
            return self._checked(group, ask())
        except Unrated as why:
            return why

    def _checked(self, group: Sequence[Trajectory], rewards: Sequence[Reward]) -> list[Reward]:
        rewards = list(rewards)
        if len(rewards) != len(group):
            raise BadReward(f"Reward {self.name}: {len(rewards)} rewards for a group of {len(group)} trajectories.")
        for number, reward in enumerate(rewards):
            if not isinstance(reward, Reward):
                raise BadReward(f"Reward {self.name}: {reward!r} for trajectory {number}; give a Reward.")
            by_turn = {f"turn {turn}": value for turn, value in enumerate(reward.turns or ())}
            for name, value in {"total": reward.total, **reward.parts, **by_turn}.items():
                if not math.isfinite(value):
                    raise BadReward(
                        f"Reward {self.name}: {name} of trajectory {number} is {value}; give a finite number."
                    )
            if (fault := _fault(reward, group[number], rewards[0])) is not None:
                raise BadReward(f"Reward {self.name}: trajectory {number} {fault}")
        return rewards


def _fault(reward: Reward, trajectory: Trajectory, first: Reward) -> str | None:
    """The fault of a reward's split over its turns or of its parts, with what to do; None if there is no fault. `first`
    is the reward of the group's first trajectory."""
    if reward.turns is not None:
        turns, given, total = len(trajectory.turns), len(reward.turns), math.fsum(reward.turns)
        if turns != given:
            return f"has {turns} turns, but {given} rewards for them; give one each, or None."
        if not math.isclose(total, reward.total, abs_tol=_CLOSE * max([1.0, *map(abs, reward.turns)])):
            return f"has the total {reward.total}, but its turns add up to {total}; let them add up to the total."
    if reward.parts.keys() != first.parts.keys():
        has, others = sorted(reward.parts), sorted(first.parts)
        return f"has the parts {has}, but the first has {others}; give all of a group the same."
    return None
