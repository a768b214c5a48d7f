"""Runs that take seconds."""

from __future__ import annotations

from typing import Any

import pytest

from gymposium_train.config import TrainConfig
from gymposium_train.config.reading import build_config, change_config

QUICK: dict[str, Any] = {
    "games": ["kuhn_poker"],
    "seed": 3,
    "steps": 4,
    "model": {
        "small": {"hidden": 32, "layers": 2, "heads": 2, "feed_forward": 64, "vocabulary": 320},
        "tune": "lora",
        "lora": {"rank": 4, "alpha": 8},
    },
    "rollout": {"groups": 2, "group_size": 8, "growth": 1.5},
    "credit": {"kind": "grpo"},
    "prompting": {"temperature": 0.7},
    "cold_start": {"steps": 20, "matches": 80, "batch": 16, "learning_rate": 0.01, "keep": "winners"},
    "evaluation": {"opponents": ["random"], "matches": 8, "every": 2, "curve_matches": 4},
    "checkpoints": {"every": 1},
}


def quick(*overrides: str, without: tuple[str, ...] = ()) -> TrainConfig:
    """A config of the shortest run that learns something, with some settings changed. Tables in `without` are left out,
    because a setting without effect is refused."""
    data = {name: dict(table) if isinstance(table, dict) else table for name, table in QUICK.items()}
    for path in without:
        table, _, inner = path.partition(".")
        if inner:
            del data[table][inner]
        else:
            del data[table]
    return change_config(build_config(data), *overrides)


@pytest.fixture(scope="session")
def quick_config() -> Any:
    """`quick`, as a fixture: test modules cannot import from here."""
    return quick
