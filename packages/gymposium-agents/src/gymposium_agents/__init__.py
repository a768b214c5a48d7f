"""Language models as players: chat, token engines, LoRA, evaluation.

Each name is imported on first use. The `gymposium` command imports this package for every subcommand, and most
subcommands do not need torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gymposium_agents.chat.tokens import Policy
    from gymposium_agents.models.loading import LoadedModel, load_chat, load_model
    from gymposium_agents.models.small import make_small_model
    from gymposium_agents.players.player import LanguageModelPlayer

__all__ = ["LanguageModelPlayer", "LoadedModel", "Policy", "load_chat", "load_model", "make_small_model"]

_MODULES = {
    "LanguageModelPlayer": "players.player",
    "LoadedModel": "models.loading",
    "Policy": "chat.tokens",
    "load_chat": "models.loading",
    "load_model": "models.loading",
    "make_small_model": "models.small",
}


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
