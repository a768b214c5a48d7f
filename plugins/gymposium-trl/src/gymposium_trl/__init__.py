"""gymposium's games and worlds in TRL's `GRPOTrainer`, through its `rollout_func`."""

from gymposium_trl.rollout import Rollout

__all__ = ["Rollout"]
