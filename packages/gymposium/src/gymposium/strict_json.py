"""Strict reading of JSON from untrusted sources: ambiguous text is refused."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any


def strict_json(text: str) -> Any:
    """The value of a JSON text.

    Raises `ValueError` for text that is not JSON, an object with a repeated key, `NaN` and `Infinity`, and text that is
    nested too deeply to be read."""
    try:
        return json.loads(text, object_pairs_hook=each_key_once, parse_constant=_refuse)
    except RecursionError:  # from thousands of nested brackets
        raise ValueError("it is nested too deeply") from None


def each_key_once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these keys and values. Raises `ValueError` for a repeated key."""
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise ValueError(f"the key {key[:80]!r} is repeated")
        values[key] = value
    return values


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not a JSON number")
