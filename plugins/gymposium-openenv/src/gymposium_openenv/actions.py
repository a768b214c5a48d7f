"""Replies as environment actions: free text for the only field, or JSON that fits the schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gymposium.errors import GymposiumError
from gymposium.games.protocol import Style
from gymposium.tasks.tools.schema import Schema
from gymposium.tasks.tools.wording import list_further_keywords
from gymposium.util.strict_json import parse_strict_json
from gymposium.util.visible import is_encodable

_OURS = "metadata"
"""A field of every OpenEnv action that has no meaning for the environment."""


class BadAction(GymposiumError):
    """A reply that is not an action of the environment; the message tells the player why."""

    is_actionable = False


class Actions:
    """The actions of an environment with this JSON schema."""

    def __init__(self, schema: Any) -> None:
        """Raise `ValueError` for a schema that is invalid, does not describe an object, or has external references."""
        if not isinstance(schema, Mapping):
            raise ValueError(f"the schema of actions is {str(schema)[:80]!r}, not an object")  # noqa: TRY004  # from a server
        try:
            self._checker = Schema(schema)
            self._checker.check()
        except ValueError as error:
            raise ValueError(f"the schema of actions cannot be used: {error}") from error
        self._schema = schema
        fields = {name: one for name, one in schema.get("properties", {}).items() if name != _OURS}
        only = next(iter(fields.items())) if len(fields) == 1 else None
        is_text = only is not None and isinstance(only[1], Mapping) and only[1].get("type") == "string"
        self.text_field = only[0] if only is not None and is_text else None
        """The field that gets the reply's text unchanged; None if replies are JSON."""
        self._fields = fields

    def parse_reply(self, reply: str) -> dict[str, Any]:
        """Return the action in a reply. Raises `BadAction`."""
        if not is_encodable(reply):
            raise BadAction("Your reply is not text that can be sent.")
        if self.text_field is not None:
            action: Any = {self.text_field: reply}
        else:
            try:
                action = parse_strict_json(reply)
            except ValueError as error:
                raise BadAction(f"Your reply is not JSON: {error}.") from None
        why = "it is no object" if not isinstance(action, dict) else self._checker.find_objection(action)
        if why is not None:
            raise BadAction(f"Your reply is not an action of this environment: {why}.")
        return dict(action)

    def describe(self, style: Style) -> str:
        """Return how a player writes an action, as lines of the rules."""
        if self.text_field is not None:
            about = self._fields[self.text_field].get("description", "")
            return f"Your reply is the {self.text_field}{f': {about}' if about else '.'}\n" if style == "full" else ""
        further = {"required": self._schema.get("required", []), **list_further_keywords(self._schema)}
        shape = json.dumps({"properties": self._fields, **further}, ensure_ascii=False)
        return f"Your reply is one object of JSON that fits this schema:\n{shape}\n"
