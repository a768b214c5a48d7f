"""Training of language models in games: rollouts, credit assignment, objectives, the learner and the training loop.

from gymposium_train import TrainConfig, train

run = train(TrainConfig(games=("tic_tac_toe",), steps=20), out="runs/mine")
print(run.results())
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gymposium_train.config import TrainConfig
    from gymposium_train.run.api import train
    from gymposium_train.run.callbacks import Callback

__all__ = ["Callback", "TrainConfig", "train"]


_MODULES = {"Callback": "run.callbacks", "TrainConfig": "config", "train": "run.api"}
"""Names imported on first use, because the `gymposium` command imports this package for every subcommand."""


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
