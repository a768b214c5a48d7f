"""Read configs from text, files, plain data and single settings.

Values are not converted to other types. All problems are reported at once: unknown names with the closest match, wrong
types, and values out of range."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gymposium.errors import BadOption, describe_cause
from gymposium.util.plain_file import read_plain_text
from gymposium.util.strict_json import is_integer, parse_bounded_json
from gymposium.util.strict_toml import parse_strict_toml
from gymposium_train.config import schema
from gymposium_train.config.defaults import list_omitted
from gymposium_train.config.overrides import BACK_TO_DEFAULT, Override, apply_overrides, parse_override
from gymposium_train.config.problems import BadConfig, explain_errors, format_value
from gymposium_train.config.root import TrainConfig
from gymposium_train.config.writing import config_to_data


def build_config(data: Mapping[str, Any], overrides: Iterable[Override] = ()) -> TrainConfig:
    """Make a config from nested plain data, with these overrides. Raises `BadConfig`, and `BadOption` for an override
    whose path leads nowhere."""
    data = apply_overrides(dict(data), overrides)
    if problems := [
        f"{schema.format_path(path)} = {format_value(value)}: {why}" for path, value, why in _find_unsupported(data)
    ]:
        raise BadConfig(problems)
    try:
        # through JSON: there, strict validation reads a list as a tuple
        return TrainConfig.model_validate_json(json.dumps(data), strict=True)
    except ValidationError as error:
        raise explain_errors(error, data) from None


def change_config(config: TrainConfig, *overrides: str) -> TrainConfig:
    """Return the config with some settings changed: `change_config(config, "steps=5")`. If the model or the objective
    changes, omitted settings get the new defaults. Raises the same errors as `build_config`, and `BadOption` for text
    that is not NAME=VALUE."""
    names = [*list_omitted(config), *({"credit", "mismatch"} - config.model_fields_set)]
    defaults = [Override(tuple(name.split(".")), BACK_TO_DEFAULT, name) for name in names]
    return build_config(apply_overrides(config_to_data(config), defaults), map(parse_override, overrides))


def parse_toml_config(text: str) -> TrainConfig:
    """Read a config from TOML text. Raises `BadConfig`, and `BadOption` for invalid TOML."""
    return build_config(_parse_text("The config", text, is_json=False))


def parse_json_config(text: str) -> TrainConfig:
    """Read a config from JSON text, such as a run's `config.json`. Raises `BadConfig`, and `BadOption` for invalid
    JSON."""
    return build_config(_parse_text("The config", text, is_json=True))


def read_config(path: Path) -> TrainConfig:
    """Read a config file: JSON if its name ends in `.json`, else TOML. Raises `BadConfig`, and `BadOption` for an
    unreadable file."""
    return build_config(read_data(path))


def read_data(path: Path) -> dict[str, Any]:
    """Return the data in a config file, without validation. Raises `BadOption` if the file cannot be read or parsed."""
    try:
        text = read_plain_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise BadOption(
            f"Cannot read the config {path} ({describe_cause(error)}). Name a readable TOML or JSON file."
        ) from error
    return _parse_text(str(path), text, is_json=path.suffix == ".json")


def _parse_text(what: str, text: str, *, is_json: bool) -> dict[str, Any]:
    try:
        data = parse_bounded_json(text) if is_json else parse_strict_toml(text)
    except ValueError as error:
        raise BadOption(f"{what} is not valid {'JSON' if is_json else 'TOML'}: {error}") from error
    if not isinstance(data, dict):
        raise BadOption(f"{what} must be a table of settings, not {format_value(data)}.")
    return data


def merge_data(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the data of several configs. Later ones override earlier ones. Tables are merged, unless their `kind`
    differs. Everything else is replaced, including lists."""
    data: dict[str, Any] = {}
    for layer in layers:
        for name, value in layer.items():
            below = data.get(name)
            if (
                isinstance(below, Mapping)
                and isinstance(value, Mapping)
                and value.get("kind") in (None, below.get("kind"))
            ):
                value = merge_data(below, value)
            data[name] = value
    return data


def _find_unsupported(data: Any, path: schema.Path = ()) -> Iterator[tuple[schema.Path, Any, str]]:
    """Yield values that TOML or Python can express but settings cannot have, each with its path and the reason."""
    if isinstance(data, Mapping):
        for name, value in data.items():
            yield from _find_unsupported(value, (*path, str(name)))
    elif isinstance(data, list | tuple):
        for place, value in enumerate(data):
            yield from _find_unsupported(value, (*path, place))
    elif isinstance(data, float) and not math.isfinite(data):
        yield path, data, "it must be a finite number."
    elif type(data) is int and not is_integer(data):
        yield path, data, "it must be an integer of at most 64 bits."
    elif not isinstance(data, str | int | float | None):
        yield path, data, "no setting has a value of this type. Put text in quotes."
