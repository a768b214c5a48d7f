"""A config as data and as text again, every setting in it, defaults too."""

from __future__ import annotations

import json
from collections.abc import Mapping
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
    return tomlkit.dumps(_tables_last(config.model_dump(mode="json", exclude_none=True)))


def _tables_last(data: Mapping[str, Any]) -> dict[str, Any]:
    """The same, with plain values before tables: in TOML what stands behind a table's heading belongs to it."""
    found = {name: _tables_last(value) if isinstance(value, Mapping) else value for name, value in data.items()}
    return dict(sorted(found.items(), key=lambda item: _is_table(item[1])))


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list) and any(isinstance(one, Mapping) for one in value))
