"""From rows to weights: tokens through the model, the loss, and optimizer steps."""

from gymposium_train.learner.local import LocalLearner
from gymposium_train.learner.loss import Loss
from gymposium_train.learner.protocol import Learner

__all__ = ["Learner", "LocalLearner", "Loss"]
