"""Plain schemas: those whose size bounds their evaluation time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_ANNOTATIONS = frozenset(
    "$schema title description default examples format deprecated readOnly writeOnly $comment required enum const type "
    "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems maxItems minProperties "
    "maxProperties".split()
)
"""Fast keywords without subschemas."""
_MOST, _DEEPEST = 500, 6
"""Maximum number of subschemas, and of levels. A choice evaluates its options twice, so time doubles per level."""


def is_plain(schema: Any) -> bool:
    """Return whether a schema is small and has no references, patterns or other slow keywords."""
    count, level = 0, [schema]
    for _ in range(_DEEPEST):
        below: list[Any] = []
        for one in level:
            if isinstance(one, Mapping):
                if not all(_is_plain_keyword(key, value) for key, value in one.items()):
                    return False
                below += _list_subschemas(one)
            elif not isinstance(one, bool):
                return False
        count += len(below)
        if count > _MOST:
            return False
        if not below:
            return True
        level = below
    return False


def _is_plain_keyword(key: str, value: Any) -> bool:
    match key:
        case "properties":
            return isinstance(value, Mapping)
        case "anyOf" | "oneOf":
            return isinstance(value, list | tuple)
        case "items" | "additionalProperties":
            return isinstance(value, Mapping | bool)
    return key in _ANNOTATIONS


def _list_subschemas(schema: Mapping[str, Any]) -> Iterator[Any]:
    yield from schema.get("properties", {}).values()
    for key in ("anyOf", "oneOf"):
        yield from schema.get(key, ())
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield schema[key]
