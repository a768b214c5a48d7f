"""The dialect `chat`: OpenAI's chat completions, which most services offer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from gymposium.tasks.tools import Tool
from gymposium.util.visible import visible
from gymposium_agents.chat.tokens import Message, split_content
from gymposium_agents.engines.api_dialect import (
    KNOWN,
    MOST_TOKENS,
    Answer,
    NoReply,
    RawCall,
    check_text,
    check_types,
    drop_empty,
    get_usage,
    make_data_url,
    make_native,
    number_calls,
    read_count,
)
from gymposium_agents.engines.api_settings import OPENAI_URL, SEPARATOR, ApiSettings
from gymposium_agents.engines.failures_in_answers import UNFINISHED, find_error, find_first_choice, list_finish_words
from gymposium_agents.engines.refused_fields import LIMITS, OPTIONAL

_OTHER_TEXTS = ("text", "delta")
"""Fields of a choice with the reply in answers of another form: a completion without chat, or a part of a stream."""
_TEXTS = {"text", "output_text"}
"""Types of message parts that contain a reply's text."""
_THOUGHTS = {"thinking", "redacted_thinking", "reasoning", "reasoning_text"}
_NO_TEXTS = _THOUGHTS | {"reference", "refusal"}
"""Types of message parts that do not belong to the reply."""


class ChatDialect:
    """Chat completions."""

    path = "/chat/completions"
    adaptable = (*LIMITS, *OPTIONAL)

    def choose_limit(self, settings: ApiSettings) -> str:
        # OpenAI's newer models refuse max_tokens, and most other services only know that name
        is_openai = OPENAI_URL in settings.base_url.split(SEPARATOR)
        return settings.limit or ("max_completion_tokens" if is_openai else "max_tokens")

    def make_headers(self, key: str) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {key}"}

    def write(self, settings: ApiSettings, messages: Sequence[Message], tools: Sequence[Tool]) -> dict[str, Any]:
        system = [] if settings.system is None else [{"role": "system", "content": settings.system}]
        body: dict[str, Any] = {"messages": [*system, *_write_messages(messages)]}
        if tools:
            body["tools"] = [tool.as_function for tool in tools]
        if settings.reasoning_effort is not None:
            body["reasoning_effort"] = settings.reasoning_effort
        return body

    def find_error(self, answer: Any) -> Mapping[str, Any] | str | None:
        error = find_error(answer)
        if error is None and isinstance(answer, dict) and answer.get("choices") in (None, []):
            return "no choices"
        return error

    def read(self, answer: Any, *, offered: bool) -> Answer:
        choice = find_first_choice(answer)
        message = choice.get("message") if isinstance(choice, dict) else None
        reasons = list_finish_words(choice)
        is_other_form = isinstance(choice, dict) and not choice.keys().isdisjoint(_OTHER_TEXTS)
        if message is None and reasons & KNOWN and not reasons & UNFINISHED and not is_other_form:
            message = {}  # Gemini omits it if there is no text
        if not isinstance(choice, dict) or not isinstance(message, dict):
            raise NoReply("choices[0].message is missing or not an object")
        text = _read_content(message.get("content"))
        if not text.strip() and not reasons & KNOWN:
            reason = visible(repr(str(choice.get("finish_reason")).lower()[:80]))
            raise NoReply(f"message.content is empty, and finish_reason is unknown: {reason}")
        made = message.get("tool_calls") or []
        if not made and message.get("function_call"):
            made = [{"function": message["function_call"]}]  # OpenAI's form before tools
        if offered and not isinstance(made, list):
            raise NoReply("message.tool_calls is not a list")
        calls = tuple(_read_call(one) for one in made) if offered else ()
        kept = {**drop_empty(message, "content"), "role": "assistant"}
        return Answer(
            text,
            reasons,
            *_read_usage(get_usage(answer)),
            has_calls=bool(made),
            calls=calls,
            native=make_native([kept], [call.get("id") for call in made]) if calls else None,
            has_thoughts=_has_thoughts(message),
        )


def _write_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the messages in the dialect's form. Replies with calls are sent back as the service wrote them."""
    written = list[dict[str, Any]]()
    for message, ids in number_calls(messages):
        if native := message.get("native"):
            written += native.items
            continue
        one: dict[str, Any] = {"role": message["role"], "content": message["content"]}
        if "pictures" in message:
            one["content"] = [
                {"type": "text", "text": part}
                if isinstance(part, str)
                else {"type": "image_url", "image_url": {"url": make_data_url(part)}}
                for part in split_content(message)
            ]
        if calls := message.get("tool_calls", ()):
            one["content"] = message["content"] or None
            one["tool_calls"] = [
                {
                    "id": id_,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments_json},
                }
                for call, id_ in zip(calls, ids, strict=True)
            ]
        elif ids:
            [one["tool_call_id"]] = ids
        written.append(one)
    return written


def _read_content(content: Any) -> str:
    """Return the text of a message's content, which is a text or a list of parts. It is empty if the message contains
    only thoughts, a tool call or a refusal. Thoughts are in another field or in other parts (`reasoning_content`,
    `thinking`), which are ignored.

    Raises `NoReply` if the content cannot be a reply's text, or has parts of unknown types."""
    if not isinstance(content, list):
        content = [] if content is None else [{"type": "text", "text": content}]
    types: list[Any] = [part.get("type") if isinstance(part, dict) else None for part in content]
    if not all(isinstance(kind, str) for kind in types):
        raise NoReply("message.content is not text")
    told = [part for part, kind in zip(content, types) if kind in _TEXTS]
    texts: list[Any] = ["" if "text" in part and part["text"] is None else part.get("text") for part in told]
    if not all(isinstance(text, str) for text in texts):
        raise NoReply("message.content is not text")
    check_types({*types} - _TEXTS - _NO_TEXTS, "message.content")
    return check_text("".join(texts), "message.content")


def _read_call(made: Any) -> RawCall:
    """Return a call of a message. Raises `NoReply` for a call of another form."""
    match made:
        case {"function": {"name": str(name), **rest}}:
            arguments = rest.get("arguments") or ""
        case _:
            raise NoReply("message.tool_calls has an element that is not a call of a function")
    if not isinstance(arguments, str):  # some services write the object
        arguments = json.dumps(arguments, ensure_ascii=False)
    return RawCall(check_text(name, "message.tool_calls"), check_text(arguments, "message.tool_calls"))


def _has_thoughts(message: Mapping[str, Any]) -> bool:
    """Return True if a message has thoughts outside its text."""
    parts = message.get("content")
    kinds = {part.get("type") for part in parts} if isinstance(parts, list) else set()
    return bool(message.get("reasoning_content") or message.get("reasoning") or kinds & _THOUGHTS)


def _read_usage(usage: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Return the numbers of prompt and completion tokens, or None for a number that the service did not report. If the
    total exceeds the sum, the rest are thoughts, which some services do not count as completion. Raises `NoReply` for
    a value that is not a count."""
    prompt, completion = read_count(usage, "prompt_tokens"), read_count(usage, "completion_tokens")
    total = usage.get("total_tokens")
    if prompt is not None and type(total) is int and prompt + (completion or 0) < total <= MOST_TOKENS:
        completion = total - prompt
    return prompt, completion
