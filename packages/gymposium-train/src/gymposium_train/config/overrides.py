"""Overrides: single settings from the command line, `optimizer.learning_rate=1e-5`, `stages.0.promote=0.8`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any

from gymposium.errors import BadOption
from gymposium_train.config.schema import Node, inside, kind_of, plain, variants, whole

BACK_TO_DEFAULT = object()
"""The value of `NAME=`, which restores the default."""


@dataclass(frozen=True, slots=True)
class Override:
    """One setting and its value."""

    path: tuple[str, ...]
    value: Any
    written: str
    """As the user wrote it, for errors."""


def parse(text: str) -> Override:
    """Read `NAME=VALUE`. The name is a dotted key of TOML (names with more than letters, digits, - and _ are quoted),
    and the value is TOML; a value that is not TOML is text, so a bare word needs no quotes. Raises `BadOption`."""
    for cut, character in enumerate(text):
        if character == "=" and (path := _path(text[:cut])):
            return Override(path, _value(text, text[cut + 1 :].strip()), text)
    raise BadOption(f"{text!r} is not of the form NAME=VALUE. Write, for one, optimizer.learning_rate=1e-5.")


def _path(key: str) -> tuple[str, ...]:
    try:
        found: Any = tomllib.loads(f"{key} = 0")
    except ValueError:
        return ()
    path = []
    while isinstance(found, dict) and len(found) == 1:
        [(name, found)] = found.items()
        path.append(name)
    return tuple(path)


def _value(text: str, value: str) -> Any:
    if not value:
        return BACK_TO_DEFAULT
    try:
        found = tomllib.loads(f"value = {value}")
    except ValueError as error:
        if value[0] in "[{\"'":
            raise BadOption(f"{text}: the value is not TOML ({error}). Text within it stands in quotes.") from error
        return value
    if len(found) > 1 or isinstance(found["value"], date | datetime | time):
        return value
    return found["value"]


def applied(data: dict[str, Any], overrides: Iterable[Override]) -> dict[str, Any]:
    """Return a copy of the config's data with these settings in it. Another `kind` of a table begins that table anew,
    since it has other settings. Raises `BadOption` for a setting that is given twice, and for a path that leads
    nowhere."""
    data, paths = deepcopy(data), set()
    for override in sorted(overrides, key=lambda override: override.path[-1] != "kind"):  # these clear tables
        if override.path in paths:
            raise BadOption(f"{override.written}: {'.'.join(override.path)} is given twice. Give it once.")
        paths.add(override.path)
        _place(data, whole(), override, 0)
    return data


def _place(data: Any, node: Node | None, override: Override, depth: int) -> None:
    """Set what the path names from `depth` on, in the table or list that it leads through so far."""
    name, here = override.path[depth], ".".join(override.path[:depth])
    last = depth + 1 == len(override.path)
    if isinstance(data, list):
        if not (name.isdecimal() and int(name) < len(data)):
            raise BadOption(f"{override.written}: {here} has {len(data)} entries, counted from 0; {name} is not one.")
        if last:
            if override.value is BACK_TO_DEFAULT:
                raise BadOption(f"{override.written}: an entry of a list has no default. Give all of {here}.")
            data[int(name)] = override.value
            return
        _place(data[int(name)], node and inside(node, int(name)), override, depth + 1)
    elif isinstance(data, dict):
        if last:
            value = _default(node, name) if override.value is BACK_TO_DEFAULT else override.value
            if name == "kind" and node is not None and variants(node) and value != kind_of(plain(node), data):
                data.clear()
            if override.value is BACK_TO_DEFAULT:
                data.pop(name, None)
            else:
                data[name] = override.value
            return
        below = node and inside(node, name, data)
        if data.get(name) is None:
            default = _default(node, name, data)
            data[name] = deepcopy(default) if isinstance(default, list | dict) else {}
        _place(data[name], below, override, depth + 1)
    else:
        raise BadOption(f"{override.written}: {here} is {data!r}, which has no settings within it.")


def _default(node: Node | None, name: str, data: Any = None) -> Any:
    below = node and inside(node, name, data)
    return below.get("default") if below else None
