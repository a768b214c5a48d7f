"""Random calls of tools, for the player `random` and for tests."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

from gymposium.tools.calls import Call
from gymposium.tools.tool import Tool

_MOST = 1000
"""Greatest absolute value of a number without bounds."""
_LONGEST = 3
"""Greatest length of a list without bounds."""


def random_call(tools: Sequence[Tool], text: str, rng: random.Random) -> Call:
    """A call of a random tool whose arguments fit the schema. Text arguments are words of `text`, numbers are from
    their range. Optional arguments are given half of the time."""
    tool = tools[int(rng.random() * len(tools))]
    words = re.findall(r"\w[\w@.-]*\w|\w", text) or ["?"]
    return Call(tool.name, _value(tool.parameters, tool.parameters, words, rng))


def _value(schema: Mapping[str, Any], whole: Mapping[str, Any], words: Sequence[str], rng: random.Random) -> Any:
    if (reference := schema.get("$ref")) is not None:
        return _value(whole["$defs"][reference.rpartition("/")[2]], whole, words, rng)
    if "const" in schema:
        return schema["const"]
    for key in ("enum", "anyOf", "oneOf"):
        if key in schema:
            one = _one(schema[key], rng)
            return one if key == "enum" else _value(one, whole, words, rng)
    match schema.get("type", "string"):
        case "object":
            required = schema.get("required", ())
            return {
                name: _value(one, whole, words, rng)
                for name, one in schema.get("properties", {}).items()
                if name in required or rng.random() < 0.5
            }
        case "array":
            most = schema.get("maxItems", max(schema.get("minItems", 1), _LONGEST))
            count = _integer(schema.get("minItems", 1), most, rng)
            return [_value(schema.get("items", {}), whole, words, rng) for _ in range(count)]
        case "integer":
            return _integer(schema.get("minimum", -_MOST), schema.get("maximum", _MOST), rng)
        case "number":
            low, high = schema.get("minimum", -_MOST), schema.get("maximum", _MOST)
            return round(low + (high - low) * rng.random(), 2)
        case "boolean":
            return rng.random() < 0.5
        case "null":
            return None
        case _:
            return _one(words, rng)[: schema.get("maxLength")]


def _one(values: Sequence[Any], rng: random.Random) -> Any:
    return values[int(rng.random() * len(values))]


def _integer(low: int, high: int, rng: random.Random) -> int:
    return low + int(rng.random() * (high - low + 1))
