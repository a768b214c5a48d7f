"""Write configs as data and as text, with all settings, including defaults."""

from __future__ import annotations

import json
from typing import Any

import tomlkit

from gymposium_train.config.root import TrainConfig


def as_data(config: TrainConfig) -> dict[str, Any]:
    """Return the config as nested plain data: mappings, lists, text, numbers."""
    return config.model_dump(mode="json")


def as_json(config: TrainConfig) -> str:
    """Return the config as a run's `config.json`."""
    return json.dumps(as_data(config), indent=2) + "\n"


def as_toml(config: TrainConfig) -> str:
    """Return the config as a TOML file for `gymposium train`. Omits settings whose value is None."""
    return tomlkit.dumps(config.model_dump(mode="json", exclude_none=True))
