"""Learning: rollouts, credit, objective, learner, and the loop around them.

from gymposium_train import TrainConfig, train

run = train(TrainConfig(games=("tic_tac_toe",), steps=20), out="runs/mine")
print(run.results())
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gymposium_train.api import train
    from gymposium_train.callbacks import Callback
    from gymposium_train.config import TrainConfig

__all__ = ["Callback", "TrainConfig", "train"]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    # imported on first use: the `gymposium` command imports this package for every verb
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = {"Callback": "callbacks", "TrainConfig": "config", "train": "api"}[name]
    return getattr(import_module(f"{__name__}.{module}"), name)
