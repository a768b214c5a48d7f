"""The parts that gymposium's other distributions add, so that an error can say what to install."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from gymposium.errors import MissingExtra

FirstPartyKind = Literal["command", "executor", "logger", "player"]

FIRST_PARTY: Mapping[FirstPartyKind, Mapping[str, str]] = {
    "command": {
        "eval": "gymposium-agents",
        "lora": "gymposium-agents",
        "sb3": "gymposium-sb3",
        "serve-affinetes": "gymposium-agents",
        "synth": "gymposium-agents",
        "train": "gymposium-train",
    },
    "executor": {"ray": "gymposium-ray"},
    "logger": {
        name: f'"gymposium-loggers[{name}]"' for name in ("langfuse", "mlflow", "tensorboard", "trackio", "wandb")
    },
    "player": {"api:": '"gymposium-agents[api]"', "lm:": "gymposium-agents", "sb3:": "gymposium-sb3"},
}
"""The argument of `pip install` by kind and name; for a player, by the text with which its form begins."""


def check_first_party(kind: FirstPartyKind, name: str) -> None:
    """Raise `MissingExtra` for a name that no installed plugin adds but another distribution of gymposium would."""
    if name in FIRST_PARTY[kind]:
        raise MissingExtra(f"The {kind} {name!r}", FIRST_PARTY[kind][name])
