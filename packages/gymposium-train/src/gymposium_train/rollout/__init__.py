"""Rollouts: `plan` says who plays whom in a step, `curriculum` and `pool` what that depends on, `gather` plays it and
keeps what the learner is to learn from, `results` how it went."""

from gymposium_train.rollout.gather import Rollout, roll_out
from gymposium_train.rollout.plan import Group, MatchPlanner, Planned
from gymposium_train.rollout.player_source import PlayerSource

__all__ = ["Group", "MatchPlanner", "Planned", "PlayerSource", "Rollout", "roll_out"]
