"""The protocol of rewards: functions from a group of trajectories to one reward each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol

from gymposium.errors import BadReward, UnratedGroup
from gymposium.records.trajectories import Trajectory
from gymposium.util.visible import quantity

if TYPE_CHECKING:
    from concurrent.futures import Future

_CLOSE = 1e-9
"""Tolerance between the sum of the turns' rewards and the total, relative to the largest of these numbers (at least
1)."""


@dataclass(frozen=True, slots=True)
class Reward:
    """The reward of one trajectory."""

    total: float
    """The value that the learner maximizes."""
    parts: Mapping[str, float] = field(default_factory=dict)
    """Named values reported with the total. They need not add up to it."""
    turns: tuple[float, ...] | None = None
    """The split of the total over the seat's turns, in order. The values add up to the total. None if the last turn
    gets the whole total."""
    cut: float = 0.0
    """The part of the total due to truncation, which counts as a forfeit.

    A critic's estimate of the remaining return replaces it."""


class HasTurns(Protocol):
    """Protocol for objects with turns, such as trajectories."""

    @property
    def turns(self) -> Sequence[object]:
        """One seat's turns, in order."""


def split_reward(reward: Reward, trajectory: HasTurns) -> tuple[float, ...]:
    """Return each turn's reward, or () without turns."""
    if reward.turns is not None:
        return reward.turns
    before_the_last = len(trajectory.turns) - 1
    return () if before_the_last < 0 else (*(0.0,) * before_the_last, reward.total)


RewardFunction = Callable[[Sequence[Trajectory]], Sequence[Reward]]
"""A function that returns one reward per trajectory in a group, in order.

Trajectories in a group share game, seat, deal and opponents, and therefore a baseline. A reward may compare them."""


class Rater(Protocol):
    """Optional protocol: a reward function that rates several groups at once, for example by asking a server."""

    def submit(self, group: Sequence[Trajectory], /) -> Future[Sequence[Reward]]:
        """Start rating one group. The future raises the same exceptions as the function."""


@dataclass(frozen=True, slots=True)
class CheckedReward:
    """A named reward function with checked results."""

    name: str
    """The text that the reward was created from."""
    function: RewardFunction

    def __call__(self, group: Sequence[Trajectory]) -> list[Reward]:
        """Return the rewards of one group.

        Raises `BadReward` unless there is one `Reward` per trajectory, and all rewards' parts have the same names. All
        values must be finite, and the turns must add up to the total. Raises `UnratedGroup` if the function does."""
        return self._check_rewards(group, self.function(tuple(group)))

    def rate(self, groups: Sequence[Sequence[Trajectory]]) -> list[list[Reward] | UnratedGroup]:
        """Return each group's rewards, or the `UnratedGroup` that the function raised for it.

        A `Rater` rates all groups at once. Raises `BadReward` as `__call__` does."""
        submit = getattr(self.function, "submit", None)
        begun: list[Future[Sequence[Reward]]] = []
        try:
            if submit is not None:
                begun += map(submit, map(tuple, groups))
                return [self._rate_group(group, future.result) for group, future in zip(groups, begun, strict=True)]
            return [self._rate_group(group, partial(self.function, tuple(group))) for group in groups]
        finally:
            for future in begun:
                future.cancel()

    def remarks(self) -> list[str]:
        """Return the function's remarks so far, if it has a `remarks` method (like `RemarkingPlayer`)."""
        remarks = getattr(self.function, "remarks", None)
        return [] if remarks is None else list(remarks())

    def _rate_group(
        self, group: Sequence[Trajectory], ask: Callable[[], Sequence[Reward]]
    ) -> list[Reward] | UnratedGroup:
        try:
            return self._check_rewards(group, ask())
        except UnratedGroup as why:
            return why

    def _check_rewards(self, group: Sequence[Trajectory], rewards: Sequence[Reward]) -> list[Reward]:
        rewards = list(rewards)
        if len(rewards) != len(group):
            raise BadReward(
                f"Reward {self.name}: got {quantity(len(rewards), 'reward')} for a group of "
                f"{quantity(len(group), 'trajectory', 'trajectories')}. Return one "
                "per trajectory."
            )
        for number, reward in enumerate(rewards):
            if not isinstance(reward, Reward):
                raise BadReward(f"Reward {self.name}: got {reward!r} for trajectory {number}. Return a Reward.")
            by_turn = {f"turn {turn}": value for turn, value in enumerate(reward.turns or ())}
            for name, value in {"total": reward.total, **reward.parts, **by_turn}.items():
                if not math.isfinite(value):
                    raise BadReward(
                        f"Reward {self.name}: {name} of trajectory {number} is {value}. Return a finite number."
                    )
            if (fault := _find_fault(reward, group[number], rewards[0])) is not None:
                raise BadReward(f"Reward {self.name}: trajectory {number} {fault}")
        return rewards


def _find_fault(reward: Reward, trajectory: Trajectory, first: Reward) -> str | None:
    """Return an error in a reward's split or parts, with its fix, or None.

    `first` is the reward of the group's first trajectory."""
    if reward.turns is not None:
        turns, given, total = len(trajectory.turns), len(reward.turns), math.fsum(reward.turns)
        if turns != given:
            return f"has {quantity(turns, 'turn')}, but {quantity(given, 'reward')} for them; give one each, or None."
        if not math.isclose(total, reward.total, abs_tol=_CLOSE * max([1.0, *map(abs, reward.turns)])):
            return f"has the total {reward.total}, but its turns add up to {total}; let them add up to the total."
    if reward.parts.keys() != first.parts.keys():
        has, others = sorted(reward.parts), sorted(first.parts)
        return f"has the parts {has}, but the first has {others}; give all of a group the same."
    return None
