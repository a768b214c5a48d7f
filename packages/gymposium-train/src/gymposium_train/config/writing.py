"""A config as data and as text again, every setting in it, defaults too."""

from __future__ import annotations

import json
from typing import Any

import tomlkit

from gymposium_train.config.whole import TrainConfig


def as_data(config: TrainConfig) -> dict[str, Any]:
    """Nested plain data: mappings, lists, text, numbers."""
    return config.model_dump(mode="json")


def as_json(config: TrainConfig) -> str:
    """As it stands in a run's `config.json`."""
    return json.dumps(as_data(config), indent=2) + "\n"


def as_toml(config: TrainConfig) -> str:
    """As a file that `gymposium train` takes. What is left out in the config is left out here."""
    return tomlkit.dumps(config.model_dump(mode="json", exclude_none=True))
