"""Approximate merging of JSON schemas that must hold together, for sampling."""

from __future__ import annotations

from collections.abc import Mapping
from math import lcm
from typing import Any

_GREATER = {"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains"}
_LESSER = {"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains"}
_CHOICES = {"anyOf", "oneOf", "if", "$ref", "$dynamicRef", "$recursiveRef"}


def merge_schemas(schema: Any, other: Any) -> Any:
    """Return a schema that approximates the values matching both schemas. False matches nothing."""
    if schema is False or other is False:
        return False
    if not isinstance(schema, Mapping) or not isinstance(other, Mapping):
        return schema if isinstance(schema, Mapping) else other
    both = dict(schema)
    for key, value in other.items():
        if key not in both or both[key] == value:
            both[key] = value
        elif key in _CHOICES:
            both["allOf"] = [*both.get("allOf", ()), {key: value}]
        else:
            both[key] = _merge_keyword(key, both[key], value)
    return both


def list_types(schema: Mapping[str, Any]) -> list[str] | None:
    """Return the types in `type`, or None without `type`. Entries that are not strings are ignored."""
    given = schema.get("type")
    named = given if isinstance(given, list | tuple) else [given]
    return None if given is None else [one for one in named if isinstance(one, str)]


def _merge_keyword(key: str, mine: Any, yours: Any) -> Any:
    """Return a keyword value that combines two different values."""
    match key:
        case "type":
            return _merge_types(mine, yours)
        case "enum":
            return [value for value in mine if value in yours]
        case "required" | "allOf":
            return [*mine, *(value for value in yours if value not in mine)]
        case "properties" | "patternProperties" | "$defs" | "definitions":
            return {name: merge_schemas(mine.get(name, True), yours.get(name, True)) for name in {**mine, **yours}}
        case "prefixItems":
            longer, shorter = sorted((mine, yours), key=len, reverse=True)
            return [merge_schemas(one, shorter[at] if at < len(shorter) else True) for at, one in enumerate(longer)]
        case "items" | "additionalProperties" | "unevaluatedProperties" | "propertyNames" if _are_schemas(mine, yours):
            return merge_schemas(mine, yours)
        case "multipleOf" if isinstance(mine, int) and isinstance(yours, int):
            return lcm(mine, yours)
    if _are_numbers(mine, yours) and key in _GREATER | _LESSER:
        return max(mine, yours) if key in _GREATER else min(mine, yours)
    return yours


def _merge_types(mine: Any, yours: Any) -> list[str]:
    mine, yours = list_types({"type": mine}) or [], list_types({"type": yours}) or []
    narrow = [one for one in mine if one in yours or (one == "integer" and "number" in yours)]
    return [*narrow, *(one for one in yours if one == "integer" and "number" in mine and one not in mine)]


def _are_schemas(*values: Any) -> bool:
    return all(isinstance(value, Mapping | bool) for value in values)


def _are_numbers(*values: Any) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
