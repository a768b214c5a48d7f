"""Everything that decides a run, as one typed whole of small parts."""

from gymposium_train.config.learn import Credit, Critic, Entropy, Kl, Mismatch, Objective, Optimizer, Precision, Sft
from gymposium_train.config.measure import Checkpoints, ColdStart, Evaluation, Keep, Samples
from gymposium_train.config.model import Engine, Lora, Model
from gymposium_train.config.play import Asking, Pool, Rollout, Stage
from gymposium_train.config.whole import TrainConfig

__all__ = [
    "Asking",
    "Checkpoints",
    "ColdStart",
    "Credit",
    "Critic",
    "Engine",
    "Entropy",
    "Evaluation",
    "Keep",
    "Kl",
    "Lora",
    "Mismatch",
    "Model",
    "Objective",
    "Optimizer",
    "Pool",
    "Precision",
    "Rollout",
    "Samples",
    "Sft",
    "Stage",
    "TrainConfig",
]
