"""OpenEnv's websocket messages, as sent and read by its client version 0.10.

A client sends `{"type": "reset", "data": {…}}`, `{"type": "step", "data": ACTION}`, `{"type": "state"}` and
`{"type": "close"}`. It gets `{"type": "observation", "data": {"observation", "reward", "done", "metadata"}}`,
`{"type": "state", "data": {…}}` or `{"type": "error", "data": {"message", "code"}}`. An ACTION is `{"text": …}`, or a
call of a tool: `{"type": "call_tool", "tool_name": …, "arguments": {…}}`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from gymposium.errors import GymposiumError
from gymposium.util.strict_json import parse_bounded_json

ErrorCode = Literal[
    "INVALID_JSON", "UNKNOWN_TYPE", "VALIDATION_ERROR", "EXECUTION_ERROR", "CAPACITY_REACHED", "SESSION_ERROR"
]
TYPES = ("reset", "step", "state", "close")
LONGEST_REPLY = 100_000
"""Maximum number of characters in a reply. The match's record stores it."""


class WireError(GymposiumError):
    """An error reported to the client, with one of OpenEnv's codes."""

    def __init__(self, code: ErrorCode, why: str, **details: Any) -> None:
        super().__init__(why)
        self.code, self.details = code, details

    def message(self) -> str:
        """Return the error as a message to the client."""
        return format_message("error", {"message": str(self), "code": self.code, **self.details})


@dataclass(frozen=True, slots=True)
class Incoming:
    """A message from a client."""

    type: str
    """One of `TYPES`."""
    data: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Incoming:
        """Parse a message. Raises `WireError` for an invalid one."""
        try:
            sent = parse_bounded_json(text)
        except ValueError as error:
            raise WireError("INVALID_JSON", f"Invalid JSON: {error}. Send one JSON object per message.") from None
        if not isinstance(sent, dict):
            raise WireError(
                "VALIDATION_ERROR", 'A message must be a JSON object with a type, such as {"type": "reset"}.'
            )
        kind, data = sent.get("type"), sent.get("data", {})
        if kind not in TYPES:
            raise WireError("UNKNOWN_TYPE", f"Unknown message type: {str(kind)[:80]}. Known: {', '.join(TYPES)}.")
        known = {"type", "data"} if kind in ("reset", "step") else {"type"}
        if sent.keys() - known or not isinstance(data, dict):
            raise WireError(
                "VALIDATION_ERROR",
                f"A {kind} message must have only {' and '.join(sorted(known))}, with data as an object. Given: "
                f"{str(sent)[:80]}",
            )
        return cls(kind, data)


def format_message(kind: str, data: Mapping[str, Any]) -> str:
    """Return a server message as ASCII JSON. A text may contain a lone surrogate, which UTF-8 cannot encode."""
    return json.dumps({"type": kind, "data": data}, allow_nan=False)


def extract_reply(action: Mapping[str, Any]) -> str:
    """Return an action's text. Raises `WireError` for an action that does not match `SCHEMAS`."""
    text = action.get("text")
    if not isinstance(text, str) or action.keys() - {"text", "metadata"}:
        raise WireError(
            "VALIDATION_ERROR", f'An action must be {{"text": "…"}} with the reply, not {str(action)[:80]}.'
        )
    return check_length(text)


def check_length(text: str) -> str:
    """Return a reply's text. Raises `WireError` if it is too long."""
    if len(text) > LONGEST_REPLY:
        raise WireError(
            "VALIDATION_ERROR", f"A reply must have at most {LONGEST_REPLY:,} characters, not {len(text):,}."
        )
    return text


_METADATA = {"type": "object", "additionalProperties": True, "default": {}, "title": "Metadata"}
SCHEMAS: Mapping[str, Any] = {
    "action": {
        "title": "TextAction",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "metadata": _METADATA,
            "text": {"type": "string", "title": "Text", "description": "The reply of the player, such as a move."},
        },
        "required": ["text"],
    },
    "observation": {
        "title": "TextObservation",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "done": {"type": "boolean", "default": False, "title": "Done"},
            "reward": {"anyOf": [{"type": "number"}, {"type": "null"}], "default": None, "title": "Reward"},
            "metadata": _METADATA,
            "text": {"type": "string", "title": "Text", "description": "The prompt of the player."},
            "legal_moves": {
                "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}],
                "title": "Legal Moves",
                "description": "The legal moves; null if the game takes free text.",
            },
        },
        "required": ["text", "legal_moves"],
    },
    "state": {
        "title": "MatchState",
        "type": "object",
        "additionalProperties": True,
        "properties": {
            "episode_id": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None, "title": "Episode Id"},
            "step_count": {"type": "integer", "minimum": 0, "default": 0, "title": "Step Count"},
            "game": {"type": "string", "title": "Game"},
            "seat": {"anyOf": [{"type": "integer"}, {"type": "null"}], "title": "Seat"},
            "done": {"type": "boolean", "title": "Done"},
        },
    },
}
"""Response to `GET /schema`."""


def _describe_path(method: str, summary: str) -> dict[str, Any]:
    return {method: {"summary": summary, "responses": {"200": {"description": "JSON"}}}}


OPENAPI: Mapping[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "gymposium serve-env", "version": "1.0.0"},
    "paths": {
        "/health": _describe_path("get", "Return whether the server runs"),
        "/metadata": _describe_path("get", "Describe the first game"),
        "/schema": _describe_path("get", "Return the schemas of actions, observations and states"),
        "/mcp": _describe_path("post", "List and call tools, by JSON-RPC"),
    },
}
"""Response to `GET /openapi.json`. The version is that of OpenEnv's interface."""
