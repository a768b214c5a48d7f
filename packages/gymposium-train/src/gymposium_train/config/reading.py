"""Reading of configs from text, files, plain data and single settings.

Values are not converted to other types. All problems are reported at once: unknown names with the nearest one, wrong
types, values out of range."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gymposium.errors import BadOption, reason
from gymposium.util.plain_file import read_plain_text
from gymposium.util.strict_json import bounded_json, is_integer
from gymposium.util.strict_toml import strict_toml
from gymposium_train.config import schema
from gymposium_train.config.defaults import left_out
from gymposium_train.config.overrides import BACK_TO_DEFAULT, Override, applied, parse
from gymposium_train.config.problems import BadConfig, explained, shown
from gymposium_train.config.root import TrainConfig
from gymposium_train.config.writing import as_data


def config_from(data: Mapping[str, Any], overrides: Iterable[Override] = ()) -> TrainConfig:
    """The config of nested plain data, with these overrides. Raises `BadConfig`, and `BadOption` for an override whose
    path leads nowhere."""
    data = applied(dict(data), overrides)
    if problems := [f"{schema.dotted(path)} = {shown(value)}: {why}" for path, value, why in _strange(data)]:
        raise BadConfig(problems)
    try:
        # through JSON: there strict validation reads a list as a tuple
        return TrainConfig.model_validate_json(json.dumps(data), strict=True)
    except ValidationError as error:
        raise explained(error, data) from None


def changed(config: TrainConfig, *overrides: str) -> TrainConfig:
    """The config with some settings changed: `changed(config, "steps=5")`. If the model is changed, settings that were
    left out of the config have the defaults of the new one. Raises as `config_from` does, and `BadOption` for text that
    is not of the form NAME=VALUE."""
    defaults = [Override(tuple(name.split(".")), BACK_TO_DEFAULT, name) for name in left_out(config)]
    return config_from(applied(as_data(config), defaults), map(parse, overrides))


def config_from_toml(text: str) -> TrainConfig:
    """The config in a TOML text. Raises `BadConfig`, and `BadOption` for text that is not TOML."""
    return config_from(_parsed("The config", text, is_json=False))


def config_from_json(text: str) -> TrainConfig:
    """The config in a JSON text, such as a run's `config.json`. Raises `BadConfig`, and `BadOption` for text that is
    not JSON."""
    return config_from(_parsed("The config", text, is_json=True))


def read_config(path: Path) -> TrainConfig:
    """The config in a file: JSON if its name ends in `.json`, else TOML. Raises `BadConfig`, and `BadOption` for a file
    that cannot be read."""
    return config_from(read_data(path))


def read_data(path: Path) -> dict[str, Any]:
    """The data in a config file, not validated. Raises `BadOption` for a file that cannot be read or parsed."""
    try:
        text = read_plain_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise BadOption(f"The config {path} cannot be read ({reason(error)}).") from error
    return _parsed(str(path), text, is_json=path.suffix == ".json")


def _parsed(what: str, text: str, *, is_json: bool) -> dict[str, Any]:
    try:
        data = bounded_json(text) if is_json else strict_toml(text)
    except ValueError as error:
        raise BadOption(f"{what} is not {'JSON' if is_json else 'TOML'}: {error}") from error
    if not isinstance(data, dict):
        raise BadOption(f"{what} is not a table of settings, but {shown(data)}.")
    return data


def merged(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the data of several configs; later ones override earlier ones. Tables are merged, unless their `kind`
    differs. Everything else is replaced, lists too."""
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
    """Values that TOML or Python can express but no setting can have: the path, the value and the reason."""
    if isinstance(data, Mapping):
        for name, value in data.items():
            yield from _strange(value, (*path, str(name)))
    elif isinstance(data, list | tuple):
        for place, value in enumerate(data):
            yield from _strange(value, (*path, place))
    elif isinstance(data, float) and not math.isfinite(data):
        yield path, data, "it must be a finite number."
    elif type(data) is int and not is_integer(data):
        yield path, data, "it must be an integer of at most 64 bits."
    elif not isinstance(data, str | int | float | None):
        yield path, data, "no setting has a value of this type; text must be in quotes."
