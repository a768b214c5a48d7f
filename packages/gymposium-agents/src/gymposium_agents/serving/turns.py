"""The turns of a session, as saved and restored."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from gymposium.runs.sessions import group_turns_into_rows
from gymposium.tasks.tools import Call, Tool
from gymposium_agents.chat.tokens import Message, TurnTokens
from gymposium_agents.serving.memory import Beginning
from gymposium_agents.serving.replies import ParsedReply


@dataclass(frozen=True, slots=True)
class ServedTurn:
    """One request of a session, and the reply to it."""

    number: int
    """The number of the turn, counted from 0 in the order of completed replies."""
    key: str
    """A digest of the request, for recognizing a repeated request."""
    beginning: Beginning
    parent: int | None
    """The number of the turn whose tokens the prompt begins with, or None for a prompt from scratch."""
    differs: str
    """The first field of the request that the client changed, if `beginning` is `diverged`. Otherwise empty."""
    messages: tuple[Message, ...]
    """The messages of the request, without those up to the parent's reply."""
    tools: tuple[Tool, ...]
    overridden: tuple[str, ...]
    """The request fields that the run overrode."""
    said: ParsedReply
    tokens: TurnTokens
    answer: Mapping[str, Any]
    """The whole answer, a `chat.completion` object."""


def list_messages(turns: Sequence[ServedTurn], number: int) -> tuple[Message, ...]:
    """Return all messages of a turn's request. `turns` are the turns of a session, in order."""
    parts: list[tuple[Message, ...]] = [turns[number].messages]
    while (parent := turns[number].parent) is not None:
        parts += (turns[parent].said.message,), turns[parent].messages
        number = parent
    return tuple(chain.from_iterable(reversed(parts)))


def sort_by_rows(turns: Sequence[ServedTurn]) -> list[ServedTurn]:
    """Return the turns of a session in the order of its rows (`group_turns_into_rows`)."""
    rows = group_turns_into_rows({turn.number: turn.parent for turn in turns})
    return [turns[number] for row in rows for number in row]


def convert_to_data(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Convert messages to plain data."""
    made = []
    for message in messages:
        data: dict[str, Any] = {"role": message["role"], "content": message["content"]}
        if calls := message.get("tool_calls"):
            data["tool_calls"] = [{"name": call.name, "arguments": dict(call.arguments)} for call in calls]
        if pictures := message.get("pictures"):
            data["pictures"] = [[place, b64encode(picture).decode()] for place, picture in pictures]
        made.append(data)
    return made


def convert_from_data(data: Iterable[Mapping[str, Any]]) -> tuple[Message, ...]:
    """Convert the result of `convert_to_data` back to messages."""
    messages = []
    for one in data:
        message: Message = {"role": one["role"], "content": one["content"]}
        if "tool_calls" in one:
            message["tool_calls"] = tuple(Call(call["name"], call["arguments"]) for call in one["tool_calls"])
        if "pictures" in one:
            message["pictures"] = tuple((place, b64decode(picture)) for place, picture in one["pictures"])
        messages.append(message)
    return tuple(messages)
