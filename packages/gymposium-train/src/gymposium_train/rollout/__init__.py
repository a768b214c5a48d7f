"""Rollouts: `plan` says who plays whom in a step, `curriculum` and `pool` what that depends on, `gather` plays it and
keeps what the learner is to learn from, `results` how it went."""

from gymposium_train.rollout.cast import Cast
from gymposium_train.rollout.gather import Rollout, roll_out
from gymposium_train.rollout.plan import Group, Planned, WhoPlays

__all__ = ["Cast", "Group", "Planned", "Rollout", "WhoPlays", "roll_out"]
