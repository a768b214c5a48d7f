"""The settings of a training run, a typed tree of small tables. Credits and objectives define their settings beside
their code."""

from gymposium_train.config.engine import Engine, make_engine_table
from gymposium_train.config.learn import (
    Bypass,
    DecoupledMismatch,
    Distillation,
    Entropy,
    Kl,
    Legality,
    Mismatch,
    Optimizer,
    Precision,
    Sft,
)
from gymposium_train.config.measure import Checkpoints, ColdStart, Evaluation, Keep, Samples
from gymposium_train.config.model import Lora, Model
from gymposium_train.config.play import Overlong, Pool, Prompting, RolloutSettings, Stage
from gymposium_train.config.root import TrainConfig

__all__ = [
    "Bypass",
    "Checkpoints",
    "ColdStart",
    "DecoupledMismatch",
    "Distillation",
    "Engine",
    "Entropy",
    "Evaluation",
    "Keep",
    "Kl",
    "Legality",
    "Lora",
    "Mismatch",
    "Model",
    "Optimizer",
    "Overlong",
    "Pool",
    "Precision",
    "Prompting",
    "RolloutSettings",
    "Samples",
    "Sft",
    "Stage",
    "TrainConfig",
    "make_engine_table",
]
