"""Calls of tools, and the moves that consist of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gymposium.util.strict_json import strict_json

NO_CALL = 'This is not a call of a tool. Write a line of JSON: {"name": "...", "arguments": {...}}'
"""What a person reads who wrote something else."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool with its arguments, which are JSON values."""

    name: str
    arguments: Mapping[str, Any]

    @property
    def json(self) -> str:
        """The canonical text of the call: one line of JSON, with the arguments in the order of their names."""
        arguments = {name: self.arguments[name] for name in sorted(self.arguments)}
        return json.dumps({"name": self.name, "arguments": arguments}, ensure_ascii=False, allow_nan=False)

    @classmethod
    def parse(cls, value: Any, arguments: str = "arguments") -> Call:
        """The call that a JSON object describes; `arguments` is the key of its arguments. Raises `ValueError` for an
        object of another form."""
        match value:
            case {"name": str(name)} if len(value) == 2 and isinstance(given := value.get(arguments), dict):
                return cls(name, given)
        raise ValueError(f'a call is written {{"name": "...", "{arguments}": {{...}}}}')


def move_of(calls: Sequence[Call]) -> str:
    """The canonical move that makes these calls in order: a line for each."""
    return "\n".join(call.json for call in calls)


def calls_of(move: str) -> tuple[Call, ...]:
    """The calls of a move: one or more JSON objects, each on a line of its own.

    Raises `ValueError` for text that is no such move: invalid JSON, a repeated key, `NaN`, another form."""
    return tuple(Call.parse(strict_json(line, any_integer=True)) for line in move.strip().split("\n"))
