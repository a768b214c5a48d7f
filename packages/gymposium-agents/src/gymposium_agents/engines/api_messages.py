"""The dialect `messages`: Anthropic's API, which some other services offer as well."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

from gymposium.tasks.tools import Tool
from gymposium_agents.chat.tokens import Message, split_content
from gymposium_agents.engines.api_dialect import (
    KNOWN,
    Answer,
    NoReply,
    RawCall,
    check_text,
    check_types,
    drop_empty,
    get_text,
    get_usage,
    list_parts,
    make_native,
    number_calls,
    read_count,
    require_object,
)
from gymposium_agents.engines.api_settings import ApiSettings

_VERSION = "2023-06-01"
"""The only version of the API."""
_THOUGHTS = {"thinking", "redacted_thinking"}
_PROMPT_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
"""The counts that add up to the tokens of a prompt."""


class MessagesDialect:
    """Anthropic's messages."""

    path = "/messages"
    adaptable = ("temperature",)

    def choose_limit(self, settings: ApiSettings) -> str:
        return "max_tokens"

    def make_headers(self, key: str) -> Mapping[str, str]:
        return {"x-api-key": key, "anthropic-version": _VERSION}

    def write(self, settings: ApiSettings, messages: Sequence[Message], tools: Sequence[Tool]) -> dict[str, Any]:
        system = [message["content"] for message in messages if message["role"] == "system"]
        system = [*filter(None, [settings.system]), *system]
        body: dict[str, Any] = {
            "messages": _write_messages([message for message in messages if message["role"] != "system"])
        }
        if system:
            body["system"] = "\n\n".join(system)
        if tools:
            body["tools"] = [
                {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}
                for tool in tools
            ]
        if settings.reasoning_effort is not None:
            body["output_config"] = {"effort": settings.reasoning_effort}
        if settings.thinking_budget is not None:
            body["thinking"] = {"type": "enabled", "budget_tokens": settings.thinking_budget}
        return body

    def find_error(self, answer: Any) -> Mapping[str, Any] | str | None:
        if not isinstance(answer, dict):
            return None
        if answer.get("type") == "error" or answer.get("error"):
            error = answer.get("error")
            return error if isinstance(error, dict) else {"message": str(error)}
        return "no content" if answer.get("content") is None else None

    def read(self, answer: Any, *, offered: bool) -> Answer:
        answer = require_object(answer, "the answer")
        parts = list_parts(answer.get("content"), "content")
        reason = str(answer.get("stop_reason")).lower()
        text = "".join(get_text(part, "content") for kind, part in parts if kind == "text")
        made = [part for kind, part in parts if kind == "tool_use"]
        check_types({kind for kind, _ in parts} - _THOUGHTS - {"text", "tool_use"}, "content")
        if not text.strip() and not made and reason not in KNOWN:
            raise NoReply("content is empty, and stop_reason is unknown")
        calls = tuple(_read_call(one) for one in made) if offered else ()
        kept = [drop_empty(part) for kind, part in parts if kind != "text" or part["text"].strip()]
        counts = [read_count(get_usage(answer), name) for name in _PROMPT_COUNTS]
        return Answer(
            check_text(text, "content"),
            {reason},
            None if counts[0] is None else sum(filter(None, counts)),
            read_count(get_usage(answer), "output_tokens"),
            has_calls=bool(made),
            calls=calls,
            native=make_native([{"role": "assistant", "content": kept}], [one.get("id") for one in made]),
            has_thoughts=any(kind in _THOUGHTS for kind, _ in parts),
        )


def _write_part(part: str | bytes) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(part).decode()}
    return {"type": "image", "source": source}


def _write_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the messages in the dialect's form. The results of a reply's calls are one message."""
    written = list[dict[str, Any]]()
    for message, ids in number_calls(messages):
        if native := message.get("native"):
            written += native.items
        elif calls := message.get("tool_calls", ()):
            text = [{"type": "text", "text": message["content"]}] if message["content"].strip() else []
            made = [
                {"type": "tool_use", "id": id_, "name": call.name, "input": dict(call.arguments)}
                for call, id_ in zip(calls, ids, strict=True)
            ]
            written.append({"role": "assistant", "content": [*text, *made]})
        elif ids:
            result = {"type": "tool_result", "tool_use_id": ids[0], "content": message["content"]}
            if isinstance(written[-1]["content"], list) and written[-1]["role"] == "user":
                written[-1]["content"].append(result)
            else:
                written.append({"role": "user", "content": [result]})
        elif "pictures" in message:
            written.append({"role": "user", "content": [_write_part(part) for part in split_content(message)]})
        else:
            written.append({"role": message["role"], "content": message["content"]})
    return written


def _read_call(part: Mapping[str, Any]) -> RawCall:
    arguments = json.dumps(part.get("input"), ensure_ascii=False)
    return RawCall(get_text(part, "content", "name"), check_text(arguments, "content"))
