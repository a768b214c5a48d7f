"""From rows to weights: how tokens go through the model, the loss, and the optimizer's steps."""

from gymposium_train.learner.local import LocalLearner
from gymposium_train.learner.loss import Loss
from gymposium_train.learner.protocol import Learner

__all__ = ["Learner", "LocalLearner", "Loss"]
