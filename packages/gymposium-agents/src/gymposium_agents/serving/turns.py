"""The turns of a session, as they are kept and restored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gymposium.tools import Call, Tool
from gymposium_agents.serving.memory import Beginning
from gymposium_agents.serving.replies import ParsedReply
from gymposium_agents.tokens import Message, TurnTokens


@dataclass(frozen=True, slots=True)
class ServedTurn:
    """One request of a session, and the reply to it."""

    number: int
    """The number of the turn, in the order in which replies were complete, counted from 0."""
    key: str
    """A digest of the request, by which a repeated request is recognized."""
    beginning: Beginning
    parent: int | None
    """The number of the turn whose tokens the prompt begins with; None if it begins anew."""
    differs: str
    """The first field of the request that the client changed, if `beginning` is `diverged`; else empty."""
    messages: tuple[Message, ...]
    """The messages of the request, without those up to the parent's reply."""
    tools: tuple[Tool, ...]
    said: ParsedReply
    tokens: TurnTokens
    answer: Mapping[str, Any]
    """The whole answer, a `chat.completion` object."""


def conversation(turns: Sequence[ServedTurn], number: int) -> tuple[Message, ...]:
    """All messages of the request of a turn. `turns` are the turns of a session, in order."""
    turn = turns[number]
    if turn.parent is None:
        return turn.messages
    return (*conversation(turns, turn.parent), turns[turn.parent].said.message, *turn.messages)


def in_rows(turns: Sequence[ServedTurn]) -> list[ServedTurn]:
    """The turns of a session in the order of its rows: each turn is followed by the first of those that begin with its
    tokens. The others, which branch off there, begin rows of their own later."""
    following: dict[int | None, list[ServedTurn]] = {}
    for turn in turns:
        following.setdefault(turn.parent, []).append(turn)
    ordered: list[ServedTurn] = []
    begins = list(reversed(following.get(None, [])))
    while begins:
        row: list[ServedTurn] = [begins.pop()]
        while row[-1].number in following:
            row.append(following[row[-1].number][0])
        begins += (other for turn in reversed(row) for other in reversed(following.get(turn.number, [])[1:]))
        ordered += row
    return ordered


def as_data(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Messages as plain data."""
    made = []
    for message in messages:
        data: dict[str, Any] = {"role": message["role"], "content": message["content"]}
        if calls := message.get("tool_calls"):
            data["tool_calls"] = [{"name": call.name, "arguments": dict(call.arguments)} for call in calls]
        made.append(data)
    return made


def from_data(data: Iterable[Mapping[str, Any]]) -> tuple[Message, ...]:
    """The messages of what `as_data` returned."""
    messages = []
    for one in data:
        message: Message = {"role": one["role"], "content": one["content"]}
        if "tool_calls" in one:
            message["tool_calls"] = tuple(Call(call["name"], call["arguments"]) for call in one["tool_calls"])
        messages.append(message)
    return tuple(messages)
