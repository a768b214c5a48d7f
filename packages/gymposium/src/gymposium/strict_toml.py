"""Strict reading of TOML from untrusted sources."""

from __future__ import annotations

import tomllib
from typing import Any

from gymposium.strict_json import check_depth, is_integer


def strict_toml(text: str) -> dict[str, Any]:
    """Return the table of a TOML text.

    Raises `ValueError` for text that is not TOML, is nested too deeply, or has integers of more than 64 bits. `inf` and
    `nan` are left to the reader of the table."""
    try:
        table = tomllib.loads(text)
    except RecursionError:  # from hundreds of nested brackets
        raise ValueError("it is nested too deeply") from None
    check_depth(table)
    _check_integers(table)
    return table


def _check_integers(value: Any) -> None:
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            _check_integers(inner)
    elif type(value) is int and not is_integer(value):
        raise ValueError("an integer has more than 64 bits")
