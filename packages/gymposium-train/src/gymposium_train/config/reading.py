"""Read a config from text, files, plain data and single settings. Nothing is converted, and all problems are reported
at once: unknown names with the nearest one, wrong types, values out of range."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gymposium.errors import BadOption
from gymposium_train.config import schema
from gymposium_train.config.overrides import Override, applied, parse
from gymposium_train.config.problems import BadConfig, explained, shown
from gymposium_train.config.root import TrainConfig
from gymposium_train.config.writing import as_data


def config_from(data: Mapping[str, Any], overrides: Iterable[Override] = ()) -> TrainConfig:
    """The config of nested plain data, with these settings in place of its own. Raises `BadConfig`, and `BadOption` for
    a setting that leads nowhere."""
    data = applied(dict(data), overrides)
    if strange := [f"{schema.dotted(path)} = {shown(value)}: {why}" for path, value, why in _strange(data)]:
        raise BadConfig(strange)
    try:
        # by way of JSON, where a list is a tuple's only form, so that strict takes it
        return TrainConfig.model_validate_json(json.dumps(data), strict=True)
    except ValidationError as error:
        raise explained(error, data) from None


def changed(config: TrainConfig, *overrides: str) -> TrainConfig:
    """The config with some settings changed, read as any other: `changed(config, "steps=5")`. Raises as `config_from`
    does, and `BadOption` for what is not of the form NAME=VALUE."""
    return config_from(as_data(config), map(parse, overrides))


def config_from_toml(text: str) -> TrainConfig:
    """The config that a TOML text is. Raises `BadConfig`, and `BadOption` for what is no TOML."""
    return config_from(_parsed("The config", text, is_json=False))


def config_from_json(text: str) -> TrainConfig:
    """The config that a run's `config.json` is. Raises `BadConfig`, and `BadOption` for what is no JSON."""
    return config_from(_parsed("The config", text, is_json=True))


def read_config(path: Path) -> TrainConfig:
    """The config in a file: TOML, or JSON where its name ends in `.json`. Raises as those do, and `BadOption` where
    there is no such file."""
    return config_from(read_data(path))


def read_data(path: Path) -> dict[str, Any]:
    """What a config file holds, not looked at yet. Raises `BadOption`."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadOption(f"The config {path} cannot be read: {error}") from error
    return _parsed(str(path), text, is_json=path.suffix == ".json")


def _parsed(what: str, text: str, *, is_json: bool) -> dict[str, Any]:
    try:
        found = json.loads(text) if is_json else tomllib.loads(text)
    except ValueError as error:
        raise BadOption(f"{what} is not {'JSON' if is_json else 'TOML'}: {error}") from error
    if not isinstance(found, dict):
        raise BadOption(f"{what} is not a table of settings, but {shown(found)}.")
    return found


def merged(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Merge data, later layers over earlier ones. Tables are merged; anything else, lists too, is replaced, and so is a
    table of another `kind`, which has other settings."""
    data: dict[str, Any] = {}
    for layer in layers:
        for name, value in layer.items():
            below = data.get(name)
            if (
                isinstance(below, Mapping)
                and isinstance(value, Mapping)
                and value.get("kind") in (None, below.get("kind"))
            ):
                value = merged(below, value)
            data[name] = value
    return data


def _strange(data: Any, path: schema.Path = ()) -> Iterator[tuple[schema.Path, Any, str]]:
    """Values that TOML or Python can express and no setting can have."""
    if isinstance(data, Mapping):
        for name, value in data.items():
            yield from _strange(value, (*path, str(name)))
    elif isinstance(data, list | tuple):
        for place, value in enumerate(data):
            yield from _strange(value, (*path, place))
    elif isinstance(data, float) and not math.isfinite(data):
        yield path, data, "it must be a finite number."
    elif not isinstance(data, str | int | float | None):
        yield path, data, "no setting is of this kind; text stands in quotes."
