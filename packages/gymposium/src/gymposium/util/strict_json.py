"""Strict parsing of JSON from untrusted sources. Ambiguous text is rejected."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

LARGEST_INTEGER = 2**63 - 1
"""Largest allowed integer (64 bits). The smallest is its negative."""
LARGEST_COUNT = 2**53
"""Largest allowed count. Every JSON parser represents integers up to this value exactly."""
LARGEST_AMOUNT = 1e100
"""Largest allowed figure. The limit keeps sums of squares finite."""

MOST_VALUES = 4_000_000
"""Maximum number of values in a text, estimated from its brackets and commas.

A value may take 250 bytes of memory, so a line of 64 MiB could take gigabytes."""
DEEPEST = 64
"""Maximum nesting depth for `bounded_json`."""


def parse_strict_json(text: str, *, any_integer: bool = False, raw_lines: bool = False) -> Any:
    """Parse a JSON text.

    `any_integer` allows integers over 64 bits. `raw_lines` allows control characters in strings, such as line breaks.

    Raises `ValueError` for invalid JSON, a repeated key, `NaN`, `Infinity`, numbers out of range, too many values, and
    nesting too deep for Python."""
    if len(text) > MOST_VALUES and sum(map(text.count, "[{,")) > MOST_VALUES:
        raise ValueError(f"it has more than {MOST_VALUES:,} values")
    try:
        return json.loads(
            text,
            strict=not raw_lines,
            object_pairs_hook=build_object,
            parse_constant=_reject_constant,
            parse_float=_parse_float,
            parse_int=int if any_integer else _parse_integer,
        )
    except RecursionError:  # from thousands of nested brackets
        raise ValueError("it is nested too deeply") from None


def parse_bounded_json(text: str, *, any_integer: bool = False) -> Any:
    """Parse a JSON text like `parse_strict_json`, for callers that traverse the value recursively.

    Also raises `ValueError` if the value is nested deeper than `DEEPEST`."""
    value = parse_strict_json(text, any_integer=any_integer)
    check_depth(value)
    return value


def check_depth(value: Any) -> None:
    """Raise `ValueError` if a value is nested deeper than `DEEPEST`."""
    if measure_depth(value) > DEEPEST:
        raise ValueError(f"it is nested too deeply, more than {DEEPEST} levels")


def measure_depth(value: Any) -> int:
    """Return the nesting depth of objects and lists in a JSON value."""
    depth = -1
    level: list[Any] = [[value]]
    while level:
        depth += 1
        inner = (one for outer in level for one in (outer.values() if isinstance(outer, dict) else outer))
        level = [one for one in inner if isinstance(one, dict | list | tuple)]
    return depth


def build_object(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object from key-value pairs. Raises `ValueError` for a repeated key."""
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise ValueError(f"the key {key[:80]!r} is repeated")
        values[key] = value
    return values


def is_integer(value: Any) -> bool:
    """Return whether a value is an integer of at most 64 bits, not a boolean."""
    return type(value) is int and -LARGEST_INTEGER <= value <= LARGEST_INTEGER


def is_count(value: Any) -> bool:
    """Return whether a value is an integer from 0 to `LARGEST_COUNT`."""
    return type(value) is int and 0 <= value <= LARGEST_COUNT


def is_number(value: Any) -> bool:
    """Return whether a value is a number of magnitude at most `LARGEST_AMOUNT`, not a boolean."""
    return type(value) in (int, float) and -LARGEST_AMOUNT <= value <= LARGEST_AMOUNT


def is_amount(value: Any) -> bool:
    """Return whether a value is a number from 0 to `LARGEST_AMOUNT`."""
    return is_number(value) and value >= 0


def _parse_integer(digits: str) -> int:
    # 20 characters hold every integer in range; converting a longer one could be slow
    value = int(digits) if len(digits) <= 20 else None
    if value is None or not is_integer(value):
        raise ValueError(f"the integer {_shorten(digits)} has more than 64 bits")
    return value


def _parse_float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"the number {_shorten(digits)} is out of range, beyond 1.8e308")
    return value


def _shorten(digits: str) -> str:
    return digits if len(digits) <= 24 else f"{digits[:20]}…"


def _reject_constant(constant: str) -> float:
    raise ValueError(f"{constant} is not a JSON number")
