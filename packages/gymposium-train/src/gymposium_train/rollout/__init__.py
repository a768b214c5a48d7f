"""Rollouts: the trajectories that a step learns from.

`protocol` defines the source of trajectories and the executor of matches. The built-in source plays matches: `plan`
chooses games, seats and opponents by `curriculum` and `pool`; `matches` plays the plan and groups the trajectories;
`results` computes metrics.
"""

from gymposium_train.rollout.matches import LocalExecutor, MatchRollouts, roll_out
from gymposium_train.rollout.plan import MatchGroup, MatchPlanner, Planned
from gymposium_train.rollout.player_source import PlayerSource
from gymposium_train.rollout.protocol import Executor, Group, RolloutSource, StepRollout

__all__ = [
    "Executor",
    "Group",
    "LocalExecutor",
    "MatchGroup",
    "MatchPlanner",
    "MatchRollouts",
    "Planned",
    "PlayerSource",
    "RolloutSource",
    "StepRollout",
    "roll_out",
]
