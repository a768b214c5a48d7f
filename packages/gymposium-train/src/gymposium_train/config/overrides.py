"""Overrides: single settings from the command line, `optimizer.learning_rate=1e-5`, `stages.0.promote=0.8`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any

from gymposium.errors import BadOption
from gymposium.util.visible import quantity
from gymposium_train.config.schema import Node, find_child_node, find_kind, list_variants, load_schema, resolve_node

BACK_TO_DEFAULT = object()
"""The value of an override with nothing after the `=`. It restores the default."""


@dataclass(frozen=True, slots=True)
class Override:
    """One setting and its value."""

    path: tuple[str, ...]
    value: Any
    written: str
    """The text as the user wrote it, for errors."""


def parse_override(text: str) -> Override:
    """Parse `NAME=VALUE`. The name is a dotted TOML key. Parts with characters other than letters, digits, - and _ are
    quoted. The value is TOML. Other text is a string, so a bare word needs no quotes. Raises `BadOption`."""
    for cut, character in enumerate(text):
        if character == "=" and (path := _parse_path(text[:cut])):
            return Override(path, _parse_value(text, text[cut + 1 :].strip()), text)
    raise BadOption(f"{text!r} is not of the form NAME=VALUE. Example: optimizer.learning_rate=1e-5")


def _parse_path(key: str) -> tuple[str, ...]:
    """Return the parts of a dotted TOML key, or nothing if the text is not one key."""
    try:
        table: Any = tomllib.loads(f"{key} = 0")
    except ValueError:
        return ()
    path = []
    while isinstance(table, dict) and len(table) == 1:
        [(name, table)] = table.items()
        path.append(name)
    return tuple(path)


def _parse_value(text: str, value: str) -> Any:
    if not value:
        return BACK_TO_DEFAULT
    try:
        table = tomllib.loads(f"value = {value}")
    except ValueError as error:
        if value[0] in "[{\"'":
            raise BadOption(f"{text}: the value is not valid TOML ({error}). Put text inside it in quotes.") from error
        return value
    if len(table) > 1 or isinstance(table["value"], date | datetime | time):
        return value
    return table["value"]


def apply_overrides(data: dict[str, Any], overrides: Iterable[Override]) -> dict[str, Any]:
    """Return a copy of the config's data with these settings. If the `kind` of a table changes, its other settings are
    removed, because they belong to the old kind. Raises `BadOption` for duplicate settings, and for a path that leads
    nowhere."""
    data = deepcopy(data)
    given: dict[tuple[str, ...], str] = {}
    for override in sorted(overrides, key=lambda override: override.path[-1] != "kind"):  # these clear tables
        if override.path in given:
            raise BadOption(
                f"{given[override.path]} and {override.written} both set {'.'.join(override.path)}. Set it once."
            )
        given[override.path] = override.written
        _set_value(data, override)
    return data


def _set_value(data: Any, override: Override) -> None:
    """Set the value of an override in the tables and lists of a config's data, adding missing tables."""
    node: Node | None = load_schema()
    for depth, name in enumerate(override.path):
        last, here = depth + 1 == len(override.path), ".".join(override.path[:depth])
        key: Any = name
        if isinstance(data, list):
            if not (name.isdecimal() and int(name) < len(data)):
                raise BadOption(
                    f"{override.written}: index {name} is invalid. {here} has "
                    f"{quantity(len(data), 'entry', 'entries')}, counted from 0."
                )
            if last and override.value is BACK_TO_DEFAULT:
                raise BadOption(f"{override.written}: list entries have no default. Give all of {here}.")
            key = int(name)
        elif not isinstance(data, dict):
            raise BadOption(f"{override.written}: {here} is {data!r}, which has no nested settings. Set {here} itself.")
        below = node and find_child_node(node, key, data)
        default = below.get("default") if below else None
        if not last:
            if isinstance(data, dict) and data.get(name) is None:
                data[name] = deepcopy(default) if isinstance(default, list | dict) else {}
            data, node = data[key], below
            continue
        value = default if override.value is BACK_TO_DEFAULT else override.value
        if name == "kind" and node is not None and list_variants(node) and value != find_kind(resolve_node(node), data):
            data.clear()
        if override.value is BACK_TO_DEFAULT:
            data.pop(name, None)
        else:
            data[key] = deepcopy(value)
