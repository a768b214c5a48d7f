"""Rollouts: the trajectories that a step learns from.

`protocol` says what a source of trajectories and an executor of matches are. The built-in source plays matches: `plan`
decides who plays whom, from `curriculum` and `pool`; `matches` plays the plan and groups the trajectories; `results`
turns them into metrics.
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
