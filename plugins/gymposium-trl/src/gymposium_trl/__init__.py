"""gymposium's games and worlds in TRL's `GRPOTrainer`, through its `rollout_func` or its `environment_factory`."""

from gymposium_trl.environment import EnvironmentFactory, MatchEnvironment
from gymposium_trl.rollout import Rollout

__all__ = ["EnvironmentFactory", "MatchEnvironment", "Rollout"]
