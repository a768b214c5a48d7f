"""From rows to weights: how tokens go through the model, what the loss makes of them, and the optimizer's steps."""

from gymposium_train.learner.learner import Learner
from gymposium_train.learner.loss import Loss

__all__ = ["Learner", "Loss"]
