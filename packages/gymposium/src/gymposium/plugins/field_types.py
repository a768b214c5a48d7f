"""Type checks for the fields of plugin specs.

Without them, an author's `seats=2.0` or `title=None` would fail only later, in a match or on a page.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

_WORDS = {str: "text", int: "a whole number", float: "a number", bool: "True or False", types.NoneType: "None"}


def check_fields(owner: str, spec: Any) -> None:
    """Raise `ValueError` unless every field of a dataclass instance has its annotated type.

    A bool is not an int, and NaN is not a float."""
    kind: Any = type(spec)
    for name, hint in _list_hints(kind):
        value = getattr(spec, name)
        if not _conforms(value, hint):
            raise ValueError(f"{owner}: {name}={value!r} must be {_describe_hint(hint)}")


@cache
def _list_hints(kind: Any) -> tuple[tuple[str, Any], ...]:
    hints = get_type_hints(kind)
    return tuple((one.name, hints[one.name]) for one in fields(kind))


def _conforms(value: object, hint: Any) -> bool:
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (types.UnionType, Union):
        return any(_conforms(value, part) for part in parts)
    if origin is Literal:
        return value in parts
    if origin is tuple:  # tuple[item, ...]
        return isinstance(value, tuple) and all(_conforms(item, parts[0]) for item in value)
    if origin is Mapping:
        return isinstance(value, Mapping) and all(all(map(_conforms, pair, parts)) for pair in value.items())
    if hint in _WORDS:
        return type(value) is hint and value == value
    return hint is Any or isinstance(value, hint)


def _describe_hint(hint: Any) -> str:
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (types.UnionType, Union):
        return " or ".join(map(_describe_hint, parts))
    if origin is Literal:
        return "one of " + ", ".join(map(repr, parts))
    if origin is tuple:
        return f"a tuple, each item {_describe_hint(parts[0])}"
    if origin is Mapping:
        return f"a mapping from {_describe_hint(parts[0])} to {_describe_hint(parts[1])}"
    return _WORDS.get(hint) or str(hint.__name__)
