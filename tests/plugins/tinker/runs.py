"""Configs of short runs on the stand-in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gymposium_train.config import TrainConfig
from gymposium_train.config.reading import config_from, merged


def settings_of(model: Path, url: str, **tables: Any) -> dict[str, Any]:
    """The settings of a run of three steps of tic-tac-toe; `tables` are merged into them."""
    base: dict[str, Any] = {
        "games": ["tic_tac_toe"],
        "steps": 3,
        "model": {"name": str(model), "tune": "lora", "lora": {"rank": 4}},
        "backend": {"kind": "tinker", "base_url": url},
        "credit": {"kind": "grpo"},
        "objective": {"kind": "pg"},
        "kl": {"weight": 0.0},
        "legality": {"weight": 0.0},
        "prompting": {"prompt": "compact", "reply": "move", "max_tokens": 4},
        "rollout": {"groups": 2, "group_size": 4},
        "cold_start": {"steps": 4, "batch": 8, "learning_rate": 1e-2},
        "optimizer": {"epochs": 1, "minibatches": 1, "layout": "padded", "learning_rate": 1e-2},
        "evaluation": {"matches": 4, "every": 0, "opponents": ["random"]},
    }
    return merged(base, tables)


def config_of(model: Path, url: str, **tables: Mapping[str, Any] | Any) -> TrainConfig:
    return config_from(settings_of(model, url, **tables))
