"""Tool calls, and moves that consist of calls."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gymposium.util.strict_json import parse_strict_json

NO_CALL = 'This is not a call of a tool. Write a line of JSON: {"name": "...", "arguments": {...}}'
"""Hint for a person whose text is not a tool call."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call with JSON arguments."""

    name: str
    arguments: Mapping[str, Any]

    @property
    def json(self) -> str:
        """The canonical text of the call: one line of JSON with sorted arguments."""
        arguments = {name: self.arguments[name] for name in sorted(self.arguments)}
        return json.dumps({"name": self.name, "arguments": arguments}, ensure_ascii=False, allow_nan=False)

    @property
    def arguments_json(self) -> str:
        """The arguments as JSON, in their own order, as chat APIs write them."""
        return json.dumps(dict(self.arguments), ensure_ascii=False)

    @classmethod
    def parse(cls, value: Any, arguments: str = "arguments") -> Call:
        """Parse a call from a JSON object. `arguments` is the key of the arguments in the object.

        Raises `ValueError` for an object of another form."""
        match value:
            case {"name": str(name)} if len(value) == 2 and isinstance(given := value.get(arguments), dict):
                return cls(name, given)
        raise ValueError(f'write a call as {{"name": "...", "{arguments}": {{...}}}}')


def format_calls(calls: Sequence[Call]) -> str:
    """Return the canonical move that makes these calls in order, one per line."""
    return "\n".join(call.json for call in calls)


def parse_calls(move: str) -> tuple[Call, ...]:
    """Parse the calls in a move: one or more JSON objects, one per line.

    Raises `ValueError` for any other text: invalid JSON, a duplicate key, `NaN`, or another form."""
    return tuple(Call.parse(parse_strict_json(line, any_integer=True)) for line in move.strip().split("\n"))
