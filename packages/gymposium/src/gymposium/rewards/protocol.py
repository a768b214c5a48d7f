"""What a reward is: a group of trajectories in, a reward for each of them out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from gymposium.errors import BadReward
from gymposium.trajectories import Trajectory


@dataclass(frozen=True, slots=True)
class Reward:
    """What one trajectory gets. `total` is what is learned from; `parts` are named figures that are reported beside
    it, each apart, whatever share they have in it."""

    total: float
    parts: Mapping[str, float] = field(default_factory=dict)


RewardFunction = Callable[[Sequence[Trajectory]], Sequence[Reward]]
"""One reward for each trajectory of one group, in the group's order. A group is what one baseline ranges over: the
same game, seat, deal and opponents. It is handed over whole, so that a reward may compare its members."""


@dataclass(frozen=True, slots=True)
class CheckedReward:
    """A reward function that is held to its promise, under the name that it is written by."""

    name: str
    function: RewardFunction

    def __call__(self, group: Sequence[Trajectory]) -> list[Reward]:
        """Raises `BadReward` where there are not as many rewards as trajectories, one is no `Reward` or not finite,
        or their parts are not all of the same names."""
        rewards = list(self.function(tuple(group)))
        if len(rewards) != len(group):
            raise BadReward(f"Reward {self.name}: {len(rewards)} rewards for a group of {len(group)} trajectories.")
        for number, reward in enumerate(rewards):
            if not isinstance(reward, Reward):
                raise BadReward(f"Reward {self.name}: {reward!r} for trajectory {number}; give a Reward.")
            for name, value in {"total": reward.total, **reward.parts}.items():
                if not math.isfinite(value):
                    raise BadReward(
                        f"Reward {self.name}: {name} of trajectory {number} is {value}; give a finite number."
                    )
            if reward.parts.keys() != rewards[0].parts.keys():
                raise BadReward(
                    f"Reward {self.name}: trajectory {number} has the parts {sorted(reward.parts)}, but the first "
                    f"has {sorted(rewards[0].parts)}; give all of a group the same."
                )
        return rewards
