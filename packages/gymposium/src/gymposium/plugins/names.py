"""Game names in OpenSpiel's string form: `goofspiel(num_cards=8,points_order=random)`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gymposium.errors import BadParameter

_NAME = re.compile(r"(?P<name>[A-Za-z0-9_:./-]+)(?:\((?P<params>.*)\))?")


def parse_name(text: str) -> tuple[str, dict[str, str]]:
    """Split `name(a=1,b=x)` into name and text parameters. Raises `BadParameter` for any other form."""
    found = _NAME.fullmatch(text.strip())
    if found is None:
        raise BadParameter(f"Invalid game name {text!r}. Use  name  or  name(key=value,…).")
    params: dict[str, str] = {}
    for item in filter(None, (part.strip() for part in _split_items(text, found["params"] or ""))):
        key, equals, value = item.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise BadParameter(f"{item!r} in {text!r} must have the form key=value, such as num_cards=5.")
        if key.strip() in params:
            raise BadParameter(f"{text!r} has a duplicate parameter {key.strip()!r}. Give it once.")
        params[key.strip()] = value.strip()
    return found["name"], params


def _split_items(text: str, params: str) -> list[str]:
    """Split at commas that are outside parentheses: `game=nim(a=1,b=2)` is one part."""
    items, depth = [""], 0
    for character in params:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            break
        if character == "," and depth == 0:
            items.append("")
        else:
            items[-1] += character
    if depth:
        raise BadParameter(f"The parentheses in {text!r} do not match. Close each one that you open.")
    return items


def format_name(name: str, params: Mapping[str, Any]) -> str:
    """Format a game name, with sorted parameters. The inverse of `parse_name`."""
    if not params:
        return name
    return f"{name}({','.join(f'{key}={params[key]}' for key in sorted(params))})"
