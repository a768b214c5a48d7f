"""The dialect `responses`: OpenAI's newer API, without state on the service."""

from __future__ import annotations

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
    make_data_url,
    make_native,
    number_calls,
    read_count,
    require_object,
)
from gymposium_agents.engines.api_settings import ApiSettings

_FAILED = ("failed", "cancelled")
"""Statuses of a response that the service broke off."""


class ResponsesDialect:
    """OpenAI's responses."""

    path = "/responses"
    # models that do not think refuse `include`
    adaptable = ("temperature", "include")

    def choose_limit(self, settings: ApiSettings) -> str:
        return "max_output_tokens"

    def make_headers(self, key: str) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {key}"}

    def write(self, settings: ApiSettings, messages: Sequence[Message], tools: Sequence[Tool]) -> dict[str, Any]:
        body: dict[str, Any] = {"input": _write_items(messages), "store": False}
        if settings.system is not None:
            body["instructions"] = settings.system
        if tools:
            body["tools"] = [{"type": "function", "strict": False, **tool.as_dict} for tool in tools]
            body["include"] = ["reasoning.encrypted_content"]  # the thoughts before a call must be sent back
        if settings.reasoning_effort is not None:
            body["reasoning"] = {"effort": settings.reasoning_effort}
        return body

    def find_error(self, answer: Any) -> Mapping[str, Any] | str | None:
        if not isinstance(answer, dict):
            return None
        if answer.get("error") or answer.get("status") in _FAILED:
            error = answer.get("error")
            return error if isinstance(error, dict) else {"message": str(error or f"status: {answer['status']}")}
        return "no output" if answer.get("output") is None else None

    def read(self, answer: Any, *, offered: bool) -> Answer:
        answer = require_object(answer, "the answer")
        items = list_parts(answer.get("output"), "output")
        check_types({kind for kind, _ in items} - {"message", "reasoning", "function_call"}, "output")
        parts = [
            part for kind, item in items if kind == "message" for part in list_parts(item.get("content"), "content")
        ]
        check_types({kind for kind, _ in parts} - {"output_text", "refusal"}, "content")
        text = "".join(get_text(part, "content") for kind, part in parts if kind == "output_text")
        made = [item for kind, item in items if kind == "function_call"]
        details = answer.get("incomplete_details")
        reason = str(details.get("reason") if isinstance(details, dict) else answer.get("status")).lower()
        if not text.strip() and not made and reason not in KNOWN:
            raise NoReply("output has no text, and status is unknown")
        calls = tuple(_read_call(one) for one in made) if offered else ()
        kept = [drop_empty(item, "content", "summary") for _, item in items]
        return Answer(
            check_text(text, "output"),
            {reason},
            read_count(get_usage(answer), "input_tokens"),
            read_count(get_usage(answer), "output_tokens"),
            has_calls=bool(made),
            calls=calls,
            native=make_native(kept, [one.get("call_id") for one in made]),
            has_thoughts=any(kind == "reasoning" for kind, _ in items),
        )


def _write_items(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the messages in the dialect's form, as items."""
    written = list[dict[str, Any]]()
    for message, ids in number_calls(messages):
        if native := message.get("native"):
            written += native.items
            continue
        calls = message.get("tool_calls", ())
        if ids and not calls:
            written.append({"type": "function_call_output", "call_id": ids[0], "output": message["content"]})
        elif "pictures" in message:
            parts = [
                {"type": "input_text", "text": part}
                if isinstance(part, str)
                else {"type": "input_image", "detail": "auto", "image_url": make_data_url(part)}
                for part in split_content(message)
            ]
            written.append({"role": "user", "content": parts})
        elif message["content"].strip() or not calls:
            written.append({"role": message["role"], "content": message["content"]})
        for call, id_ in zip(calls, ids):
            made = {"type": "function_call", "call_id": id_, "name": call.name, "arguments": call.arguments_json}
            written.append(made)
    return written


def _read_call(item: Mapping[str, Any]) -> RawCall:
    return RawCall(get_text(item, "output", "name"), get_text(item, "output", "arguments"))
