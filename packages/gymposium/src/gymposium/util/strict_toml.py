"""Strict reading of TOML from untrusted sources."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from gymposium.util.strict_json import DEEPEST, check_depth, is_integer

LONGEST = 2**20
"""The largest number of characters that is read."""
# each alternative also takes a text that does not end, behind which nothing is read
_TEXT_OR_COMMENT = re.compile(
    r'''
    """(?:[^"\\]|\\[\s\S]|"(?!""))*+(?:"{3,5})?
    | \'{3}(?:[^']|'(?!''))*+(?:'{3,5})?
    | "(?:[^"\\\n]|\\.)*+"?
    | '[^'\n]*+'?
    | \#[^\n]*+
    ''',
    re.VERBOSE,
)
_DEEP_KEY = re.compile(rf"(?:\.[\w\t -]*+){{{DEEPEST}}}")


def strict_toml(text: str) -> dict[str, Any]:
    """Return the table of a TOML text.

    Raises `ValueError` for text that is not TOML, is too long or nested too deeply, or has integers of more than 64
    bits. `inf` and `nan` are left to the reader of the table."""
    if len(text) > LONGEST:
        raise ValueError(f"it has {len(text):,} characters, more than {LONGEST:,}")
    # the time of tomllib grows with the square of the dots in a key
    if _DEEP_KEY.search(_TEXT_OR_COMMENT.sub("_", text)):
        raise ValueError("it is nested too deeply")
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
