"""Chats as training data: the seats of recorded matches, and lines of `gymposium synth`, for fine-tuning services.

A chat is a line in the form of `gymposium synth`: `messages`, or `prompt` and `completion`, with optional `tools`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gymposium.errors import BadOption, describe_cause
from gymposium.records import Record
from gymposium.records.conversation import Conversation
from gymposium.util.plain_file import read_lines
from gymposium.util.strict_json import check_depth, parse_strict_json

ORIGIN = "gymposium"
"""The key of a chat's match, seat and outcome."""
_ROLES = ("system", "user", "assistant", "tool")


def make_chat(record: Record, seat: int, conversation: Conversation) -> dict[str, Any]:
    """Return the chat of a seat in a finished match."""
    messages: list[dict[str, Any]] = []
    for turn in conversation.turns:
        if turn.results:
            messages += [{"role": "tool", "content": text} for text in turn.results]
        else:
            messages.append({"role": "user", "content": turn.prompt})
        reply: dict[str, Any] = {"role": "assistant", "content": turn.content}
        if turn.calls:
            functions = [{"name": call.name, "arguments": dict(call.arguments)} for call in turn.calls]
            reply["tool_calls"] = [{"type": "function", "function": function} for function in functions]
        messages.append(reply)
    origin = {
        "game": record.game,
        "match": record.id,
        "player": record.players[seat],
        "result": record.results[seat],
        "return": record.returns[seat],
        "seat": seat,
    }
    tools = {"tools": [tool.as_function for tool in conversation.tools]} if conversation.tools else {}
    return {"messages": messages, **tools, ORIGIN: origin}


def read_chat_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the chats in a file of `gymposium synth`. Raises `BadOption` with file and line for an invalid one."""
    try:
        for number, line in enumerate(read_lines(path), start=1):
            if not line.strip():
                continue
            try:
                chat = parse_strict_json(line.decode("utf-8-sig"), any_integer=True)
                check_depth(chat)
                _check_chat(chat)
            except ValueError as error:
                raise BadOption(
                    f"{path}:{number}: neither a match record nor a chat ({error}). Name match records, or data.jsonl "
                    "of gymposium synth."
                ) from error
            yield chat
    except OSError as error:
        raise BadOption(f"Cannot read {path} ({describe_cause(error)}). Name a readable file.") from error


def _check_chat(chat: Any) -> None:
    """Raise `ValueError` unless `chat` has messages in a known form."""
    if not isinstance(chat, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004 - like every fault of the line
    parts = ("messages",) if "messages" in chat else ("prompt", "completion")
    for part in parts:
        messages: list[Any] = chat[part] if isinstance(chat.get(part), list) else [None]
        for message in messages:
            match message:
                case {"role": str(role), "content": str()} if role in _ROLES:
                    calls = message.get("tool_calls", [])
                case _:
                    raise ValueError(f"{part} must be a list of messages with role and content")
            for call in calls if isinstance(calls, list) else [None]:
                match call:
                    case {"function": {"name": str(), "arguments": dict()}}:
                        pass
                    case _:
                        raise ValueError(f"{part}: tool_calls must be a list of functions with name and arguments")
    for tool in chat.get("tools", []):
        match tool:
            case {"function": {"name": str(), "description": str(), "parameters": dict()}}:
                pass
            case _:
                raise ValueError("tools must be a list of functions with name, description and parameters")


def to_openai(chat: Mapping[str, Any]) -> dict[str, Any]:
    """Return a chat in the format of OpenAI's fine-tuning.

    Replies in a `prompt` get weight 0, because only the completion is to be learned."""
    messages: list[dict[str, Any]] = []
    pending: list[str] = []
    learned_from = len(chat.get("prompt", ()))
    for number, message in enumerate(_list_messages(chat)):
        said: dict[str, Any] = {"role": message["role"], "content": message["content"]}
        if message["role"] == "tool":
            said["tool_call_id"] = _take_call_id(pending)
        if calls := message.get("tool_calls"):
            pending = [f"call_{number}_{n}" for n in range(len(calls))]
            said["tool_calls"] = [
                {
                    "id": name,
                    "type": "function",
                    "function": {
                        "name": call["function"]["name"],
                        "arguments": json.dumps(call["function"]["arguments"], ensure_ascii=False),
                    },
                }
                for name, call in zip(pending, calls, strict=True)
            ]
        if message["role"] == "assistant" and number < learned_from:
            said["weight"] = 0
        messages.append(said)
    return {"messages": messages, **({"tools": chat["tools"]} if chat.get("tools") else {})}


def to_anthropic(chat: Mapping[str, Any]) -> dict[str, Any]:
    """Return a chat in the format of Anthropic's messages, with calls and results as content blocks."""
    messages: list[dict[str, Any]] = []
    pending: list[str] = []
    system = [message["content"] for message in _list_messages(chat) if message["role"] == "system"]
    for number, message in enumerate(_list_messages(chat)):
        blocks: list[dict[str, Any]] = []
        if message["role"] == "system":
            continue
        if message["role"] == "tool":
            blocks.append({"type": "tool_result", "tool_use_id": _take_call_id(pending), "content": message["content"]})
        elif message["content"]:
            blocks.append({"type": "text", "text": message["content"]})
        if calls := message.get("tool_calls"):
            pending = [f"call_{number}_{n}" for n in range(len(calls))]
            blocks += [
                {
                    "type": "tool_use",
                    "id": name,
                    "name": call["function"]["name"],
                    "input": call["function"]["arguments"],
                }
                for name, call in zip(pending, calls, strict=True)
            ]
        role = "assistant" if message["role"] == "assistant" else "user"
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks  # the roles must alternate
        else:
            messages.append({"role": role, "content": blocks})
    data: dict[str, Any] = {"system": "\n\n".join(system)} if system else {}
    data["messages"] = messages
    if tools := [tool["function"] for tool in chat.get("tools") or ()]:
        data["tools"] = [
            {"name": tool["name"], "description": tool["description"], "input_schema": tool["parameters"]}
            for tool in tools
        ]
    return data


def _list_messages(chat: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [*chat["messages"]] if "messages" in chat else [*chat["prompt"], *chat["completion"]]


def _take_call_id(pending: list[str]) -> str:
    if not pending:
        raise BadOption("A chat has a tool result without a call. Remove the message, or the whole line.")
    return pending.pop(0)
