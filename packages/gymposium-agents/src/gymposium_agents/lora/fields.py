"""The types of values in an adapter's configuration, for fields read by PEFT and this package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_NEEDED = ("r", "lora_alpha")
_MOST_LAYERS = 1_000
"""Maximum number of layers that `layer_replication` may make."""


def find_wrong_fields(config: Mapping[str, Any]) -> list[str]:
    """Return the fields whose values are not of PEFT's types. None stands for a default."""
    given = {name: config.get(name) for name in _FIELDS}
    return sorted(
        name for name, value in given.items() if not (name not in _NEEDED if value is None else _FIELDS[name](value))
    )


def _is_rank(value: Any) -> bool:
    return type(value) is int and value > 0


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _is_text_or_names(value: Any) -> bool:
    return isinstance(value, str) or _are_names(value)


def _check_values(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(map(fits, value.values()))


def _are_few_layers(value: Any) -> bool:
    """Return True if the value is a list of layer ranges with few layers in total."""
    if not isinstance(value, list) or not all(isinstance(part, list) and len(part) == 2 for part in value):
        return False
    numbers = [number for part in value for number in part]
    return all(type(number) is int and 0 <= number <= _MOST_LAYERS for number in numbers) and (
        sum(end - begin for begin, end in value) <= _MOST_LAYERS
    )


_FIELDS: Mapping[str, Callable[[Any], bool]] = {
    "r": _is_rank,
    "lora_alpha": _is_number,
    "rank_pattern": _check_values(_is_rank),
    "alpha_pattern": _check_values(_is_number),
    "target_modules": _is_text_or_names,
    "exclude_modules": _is_text_or_names,
    "layers_pattern": _is_text_or_names,
    "modules_to_save": _are_names,
    "layer_replication": _are_few_layers,
}
