"""affinetes' OpenSpiel tasks on gymposium's games and players, with affinetes' task ids, `evaluate` and result fields.

Names are imported on first use, because the `gymposium` command imports this package for every verb.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gymposium_affinetes.evaluation import evaluate
    from gymposium_affinetes.tasks import Task, decode_task, encode_game

__all__ = ["Task", "decode_task", "encode_game", "evaluate"]

_MODULES = {"Task": "tasks", "decode_task": "tasks", "encode_game": "tasks", "evaluate": "evaluation"}


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
