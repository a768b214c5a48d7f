"""Rollouts: the trajectories a training step learns from.

`protocol` defines the source of trajectories, the executor of matches and the source of players. The `matches` source
plays games: `plan` chooses games, seats and opponents by `curriculum` and `pool`; `matches` plays the plan and groups
the trajectories; `results` computes metrics.
"""

from gymposium_train.rollout.matches import LocalExecutor, MatchRollouts
from gymposium_train.rollout.plan import MatchGroup, MatchPlanner, PlannedGroup
from gymposium_train.rollout.protocol import (
    Executor,
    Group,
    PlayerSource,
    RolloutSource,
    SourceStart,
    make_source,
)

__all__ = [
    "Executor",
    "Group",
    "LocalExecutor",
    "MatchGroup",
    "MatchPlanner",
    "MatchRollouts",
    "PlannedGroup",
    "PlayerSource",
    "RolloutSource",
    "SourceStart",
    "make_source",
]
