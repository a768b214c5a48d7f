"""Learning: rollouts, credit, objective, learner, and the loop around them.

from gymposium_train import TrainConfig, train

run = train(TrainConfig(games=("tic_tac_toe",), steps=20), out="runs/mine")
print(run.results())
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gymposium_train.api import train
    from gymposium_train.callbacks import Callback
    from gymposium_train.config import TrainConfig

__all__ = ["Callback", "TrainConfig", "train"]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    # on use: the `gymposium` command imports this package for every verb
    if name == "Callback":
        from gymposium_train.callbacks import Callback

        return Callback
    if name == "TrainConfig":
        from gymposium_train.config import TrainConfig

        return TrainConfig
    if name == "train":
        from gymposium_train.api import train

        return train
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
