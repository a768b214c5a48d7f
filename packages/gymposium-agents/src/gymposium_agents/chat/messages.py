"""Messages and tools in the format of chat templates, with control tokens hidden in all external text."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from gymposium.tasks.tools import Call, Tool
from gymposium_agents.chat.controls import THINKING
from gymposium_agents.chat.tokens import Message, split_content

_SCHEMA_WORDS = frozenset(
    "$defs $ref additionalProperties allOf anyOf array boolean const default description enum examples format integer "
    "items maxItems maxLength maximum minItems minLength minimum null number object oneOf pattern prefixItems "
    "properties required string title type uniqueItems".split()
)
"""Words of JSON schemas that templates look for."""

CHARACTERS_PER_TOKEN = 16
"""Maximum number of characters of a conversation per token of the context. Text has about four. A longer conversation
is rejected before tokenization, which would take long."""


class Hide(Protocol):
    """A function that returns a text without control tokens, except those in `keep`."""

    def __call__(self, text: str, keep: Container[str] = ()) -> str: ...


def make_user_message(text: str) -> Message:
    """Make a user message."""
    return {"role": "user", "content": text}


def make_assistant_message(text: str, *calls: Call) -> Message:
    """Make an assistant message."""
    return {"role": "assistant", "content": text, "tool_calls": calls}


def make_tool_message(text: str) -> Message:
    """Make a message with the result of a call."""
    return {"role": "tool", "content": text}


def list_texts(messages: Iterable[Message]) -> Iterator[str]:
    """Yield all external text in these messages."""
    for message in messages:
        yield message["content"]
        yield message.get("name", "")
        for call in message.get("tool_calls", ()):
            yield call.name
            yield json.dumps(call.arguments, ensure_ascii=False)


def list_pictures(messages: Iterable[Message]) -> Iterator[bytes]:
    """Yield all pictures in these messages, in order."""
    for message in messages:
        yield from (picture for _, picture in message.get("pictures", ()))


def convert_messages(messages: Iterable[Message], hide: Hide) -> list[dict[str, Any]]:
    """Return the messages in the format of templates. Calls are numbered, and results are matched with calls in
    order."""
    taken: list[dict[str, Any]] = []
    calls = 0
    waiting: list[tuple[str, str]] = []  # the numbers and names of calls without a result
    for message in messages:
        role = message["role"]
        keep = THINKING if role == "assistant" else ()
        one: dict[str, Any] = {"role": role}
        if "pictures" in message:
            one["content"] = [
                {"type": "text", "text": hide(part, keep)} if isinstance(part, str) else {"type": "image"}
                for part in split_content(message)
            ]
        else:
            one["content"] = hide(message["content"], keep)
        if made := message.get("tool_calls", ()):
            one["tool_calls"] = []
            waiting = []
            for call in made:
                calls += 1
                hidden = hide_call(call, hide)
                number = f"{calls:09d}"  # nine characters, as required by Mistral's templates
                waiting.append((number, hidden.name))
                function = {"name": hidden.name, "arguments": hidden.arguments}
                one["tool_calls"].append({"id": number, "type": "function", "function": function})
        if role == "tool" and waiting:
            one["tool_call_id"], one["name"] = waiting.pop(0)
        if "name" in message:
            one["name"] = hide(message["name"])
        taken.append(one)
    return taken


def convert_tools(tools: Sequence[Tool], hide: Hide) -> list[dict[str, Any]]:
    """Return the tools in the format of templates."""

    def hide_unless_schema(text: str) -> str:
        return text if text in _SCHEMA_WORDS else hide(text)

    return [
        {
            "type": "function",
            "function": {
                "name": hide(tool.name),
                "description": hide(tool.description),
                "parameters": _hide_value(tool.parameters, hide_unless_schema),
            },
        }
        for tool in tools
    ]


def hide_call(call: Call, hide: Hide) -> Call:
    """Return the call without control tokens in its name and its arguments."""
    return Call(hide(call.name), _hide_value(call.arguments, hide))


def _hide_value(value: Any, hide: Callable[[str], str]) -> Any:
    """Return a JSON value without control tokens in its keys and texts."""
    match value:
        case str():
            return hide(value)
        case Mapping():
            return {hide(key): _hide_value(inside, hide) for key, inside in value.items()}
        case list() | tuple():
            return [_hide_value(inside, hide) for inside in value]
    return value


def count_characters(messages: Sequence[Message], tools: Sequence[Tool]) -> int:
    """Return the size of everything that goes into a prompt: messages, calls and tools."""
    contents = sum(len(message["content"]) for message in messages)
    calls = sum(len(call.json) for message in messages for call in message.get("tool_calls", ()))
    return contents + calls + sum(len(json.dumps(tool.as_function, ensure_ascii=False)) for tool in tools)
