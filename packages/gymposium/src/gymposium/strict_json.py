"""JSON that somebody else wrote, read strictly: what could be read in two ways is refused."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any


def strict_json(text: str) -> Any:
    """The value of a JSON text.

    Raises `ValueError` for what is not JSON, an object that has a key twice, `NaN` and `Infinity`, and for a text that
    is nested too deeply to be read."""
    try:
        return json.loads(text, object_pairs_hook=each_key_once, parse_constant=_no_number)
    except RecursionError:  # from thousands of nested brackets
        raise ValueError("it is nested too deeply") from None


def each_key_once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these keys and values. Raises `ValueError` where a key stands there twice."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"{key[:80]!r} stands there twice")
        found[key] = value
    return found


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no JSON number")
