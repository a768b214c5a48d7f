"""What a reward is: a group of trajectories in, a reward for each of them out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol

from gymposium.errors import BadReward, Unrated
from gymposium.trajectories import Trajectory

if TYPE_CHECKING:
    from concurrent.futures import Future

_CLOSE = 1e-9
"""How far the sum of the turns may be from the total, relative to the greatest of them or to 1: rounding, no more."""


@dataclass(frozen=True, slots=True)
class Reward:
    """What one trajectory gets. `total` is what is learned from; `parts` are named figures that are reported beside
    it, each apart, whatever share they have in it."""

    total: float
    parts: Mapping[str, float] = field(default_factory=dict)
    turns: tuple[float, ...] | None = None
    """The total's split over the seat's turns, in order, adding up to it; None: all of it on the last one."""
    cut: float = 0.0
    """What of the total is there only because the trajectory was truncated: the forfeit that stands for all that would
    have come. Where a critic says what that was worth, it takes this part's place."""


class HasTurns(Protocol):
    """Anything with turns, such as a trajectory."""

    @property
    def turns(self) -> Sequence[object]:
        """The turns of one seat, in order."""
        ...


def turn_rewards(reward: Reward, trajectory: HasTurns) -> tuple[float, ...]:
    """The reward of each turn; () if there are no turns."""
    if reward.turns is not None:
        return reward.turns
    before_the_last = len(trajectory.turns) - 1
    return () if before_the_last < 0 else (*(0.0,) * before_the_last, reward.total)


RewardFunction = Callable[[Sequence[Trajectory]], Sequence[Reward]]
"""One reward for each trajectory of one group, in the group's order. A group is what one baseline ranges over: the
same game, seat, deal and opponents. It is handed over whole, so that a reward may compare its members."""


class Rater(Protocol):
    """What a reward function may add: it rates any number of groups at once, as one that asks a server does."""

    def submit(self, group: Sequence[Trajectory], /) -> Future[Sequence[Reward]]:
        """Begin the rewards of one group. The future raises what the function would."""
        ...


@dataclass(frozen=True, slots=True)
class CheckedReward:
    """A reward function that is held to its promise, under the name that it is written by."""

    name: str
    function: RewardFunction

    def __call__(self, group: Sequence[Trajectory]) -> list[Reward]:
        """Raises `BadReward` where there are not as many rewards as trajectories, one is no `Reward` or not finite,
        its turns do not add up, or their parts are not all of the same names; `Unrated` where the function does."""
        return self._checked(group, self.function(tuple(group)))

    def rate(self, groups: Sequence[Sequence[Trajectory]]) -> list[list[Reward] | Unrated]:
        """The rewards of each group, or why it has none; several at once where the function can (`Rater`). Raises
        `BadReward` as a call does."""
        submit: Callable[[Sequence[Trajectory]], Future[Sequence[Reward]]] | None
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
        """What the function has to say of its work so far, where it has `remarks` as a player may."""
        remarks = getattr(self.function, "remarks", None)
        return [] if remarks is None else list(remarks())

    def _rated(self, group: Sequence[Trajectory], ask: Callable[[], Sequence[Reward]]) -> list[Reward] | Unrated:
        try:
            return self._checked(group, ask())
        except Unrated as why:
            return why

    def _checked(self, group: Sequence[Trajectory], found: Sequence[Reward]) -> list[Reward]:
        rewards = list(found)
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
            if (wrong := _wrong_split(reward, group[number])) is not None:
                raise BadReward(f"Reward {self.name}: trajectory {number} {wrong}")
            if reward.parts.keys() != rewards[0].parts.keys():
                raise BadReward(
                    f"Reward {self.name}: trajectory {number} has the parts {sorted(reward.parts)}, but the first "
                    f"has {sorted(rewards[0].parts)}; give all of a group the same."
                )
        return rewards


def _wrong_split(reward: Reward, trajectory: Trajectory) -> str | None:
    """What is wrong with a reward's split over its trajectory's turns, and what to give; None where all is well."""
    if reward.turns is None:
        return None
    if len(reward.turns) != len(trajectory.turns):
        return f"has {len(trajectory.turns)} turns, but {len(reward.turns)} rewards for them; give one each, or None."
    together = math.fsum(reward.turns)
    if not math.isclose(together, reward.total, abs_tol=_CLOSE * max([1.0, *map(abs, reward.turns)])):
        return f"has the total {reward.total}, but its turns add up to {together}; let them add up to the total."
    return None
