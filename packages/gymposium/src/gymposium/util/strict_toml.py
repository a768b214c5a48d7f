"""Strict parsing of TOML from untrusted sources."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from gymposium.util.strict_json import DEEPEST, check_depth, is_integer

LONGEST = 2**20
"""Maximum number of characters."""
# each alternative also matches an unterminated text, and nothing after it is read
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


def parse_strict_toml(text: str) -> dict[str, Any]:
    """Parse a TOML text into a table.

    Raises `ValueError` for invalid TOML, text that is too long, deep nesting, and integers over 64 bits. Callers must
    check for `inf` and `nan`."""
    if len(text) > LONGEST:
        raise ValueError(f"it has {len(text):,} characters, more than {LONGEST:,}")
    # tomllib takes time quadratic in the number of dots in a key
    if _DEEP_KEY.search(_TEXT_OR_COMMENT.sub("_", text)):
        raise ValueError("it is nested too deeply; flatten it")
    try:
        table = tomllib.loads(text)
    except RecursionError:  # from hundreds of nested brackets
        raise ValueError("it is nested too deeply; flatten it") from None
    check_depth(table)
    _check_integers(table)
    return table


def _check_integers(value: Any) -> None:
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            _check_integers(inner)
    elif type(value) is int and not is_integer(value):
        raise ValueError("an integer has more than 64 bits; use a smaller one")
