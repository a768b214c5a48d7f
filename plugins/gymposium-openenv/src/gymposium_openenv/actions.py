"""Replies as actions of an environment: free text for its only field, or JSON that fits its schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from gymposium.errors import GymposiumError
from gymposium.games.protocol import Style
from gymposium.strict_json import strict_json
from gymposium.visible import is_encodable

_OURS = "metadata"
"""Field of every action of OpenEnv, which says nothing to the environment."""
_LONGEST_REASON = 200


class BadAction(GymposiumError):
    """A reply that is no action of the environment; the message says why, for the player."""

    tells_what_to_do = False


class Actions:
    """The actions of an environment with this JSON schema."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        """Raises `ValueError` for a schema that is none of objects, and for one that refers to another document."""
        for reference in _references(schema):
            if not reference.startswith("#"):
                raise ValueError(f"the schema of actions refers to {reference[:80]!r}, which is not in it")
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as error:
            raise ValueError(f"the schema of actions is none: {error.message[:_LONGEST_REASON]}") from error
        self._schema = schema
        self._validator = Draft202012Validator(schema)
        fields = {name: one for name, one in schema.get("properties", {}).items() if name != _OURS}
        only = next(iter(fields)) if len(fields) == 1 else None
        self.text_field = only if only is not None and fields[only].get("type") == "string" else None
        """The field that a reply fills as it is; None if a reply is JSON."""
        self._fields = fields

    def action(self, reply: str) -> dict[str, Any]:
        """The action that a reply means. Raises `BadAction`."""
        if not is_encodable(reply):
            raise BadAction("Your reply is not text that can be sent.")
        if self.text_field is not None:
            action: Any = {self.text_field: reply}
        else:
            try:
                action = strict_json(reply)
            except ValueError as error:
                raise BadAction(f"Your reply is not JSON: {error}.") from None
        wrong = next(iter(self._validator.iter_errors(action)), None)
        if wrong is not None or not isinstance(action, dict):
            why = "it is no object" if wrong is None else wrong.message[:_LONGEST_REASON]
            raise BadAction(f"Your reply is no action of this environment: {why}.")
        return action

    def in_words(self, style: Style) -> str:
        """How a player writes an action, as lines of the rules."""
        if self.text_field is not None:
            about = self._fields[self.text_field].get("description", "")
            return f"Your reply is the {self.text_field}{f': {about}' if about else '.'}\n" if style == "full" else ""
        required = self._schema.get("required", [])
        shape = json.dumps({"properties": self._fields, "required": required}, ensure_ascii=False)
        return f"Your reply is one object of JSON that fits this schema:\n{shape}\n"


def _references(schema: Any) -> Iterator[str]:
    """The addresses to which a schema refers."""
    if isinstance(schema, Mapping):
        for key, value in schema.items():
            if key in ("$ref", "$dynamicRef") and isinstance(value, str):
                yield value
            yield from _references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _references(value)
