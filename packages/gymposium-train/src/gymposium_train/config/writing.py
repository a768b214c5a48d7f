"""Write configs as data and as text, with all settings, including defaults."""

from __future__ import annotations

import json
from typing import Any

import tomlkit

from gymposium_train.config.root import TrainConfig


def config_to_data(config: TrainConfig) -> dict[str, Any]:
    """Return the config as nested plain data: mappings, lists, text, numbers."""
    return config.model_dump(mode="json")


def config_to_json(config: TrainConfig) -> str:
    """Return the config as a run's `config.json`."""
    return json.dumps(config_to_data(config), indent=2) + "\n"


def config_to_toml(config: TrainConfig) -> str:
    """Return the config as a TOML file for `gymposium train`. Omits settings whose value is None."""
    return tomlkit.dumps(config.model_dump(mode="json", exclude_none=True))
