"""Anthropic's Messages API: requests, answers and streams."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from gymposium.http.requests import RequestRefusal
from gymposium_agents.serving.dialects import (
    SHARED,
    Dialect,
    Translation,
    flatten_object,
    join_texts,
    make_type_error,
    read_parts,
    read_string,
)
from gymposium_agents.serving.replies import Begun, StreamPart, format_event
from gymposium_agents.serving.requests import (
    HONORED,
    UNKNOWN,
    BadRequest,
    CompletionRequest,
    Parameter,
    check_parameters,
    format_value,
    read_body,
    read_list,
)

NAMES = {"stop": "stop_sequences"}
"""The names of the fields of chat completions, where they differ."""
PARAMETERS: Mapping[str, Parameter] = {
    **SHARED,
    **dict.fromkeys("max_tokens messages stop_sequences stream system tools".split(), HONORED),
    # labels, which never affect replies
    **dict.fromkeys(
        "cache_control diagnostics inference_geo metadata model service_tier speed user_profile_id "
        "workspace_id".split(),
        HONORED,
    ),
    "tool_choice": Parameter("overridden", ({"type": "auto"}, {"type": "none"})),
    "tool_choice.disable_parallel_tool_use": Parameter("overridden", (False,)),
    "output_config.format": Parameter("overridden"),
    "context_management": Parameter("overridden", ({}, {"edits": []})),
    **dict.fromkeys(("container", "output_config.effort", "thinking"), UNKNOWN),
    "mcp_servers": Parameter("refused", ([],), fix="Call their tools in the client, and give them as tools."),
}
"""The fields of a request. Unknown fields are overridden, and refused by strict servers."""
_USER = ("text", "image", "tool_result")
_ASSISTANT = ("text", "tool_use", "thinking", "redacted_thinking")
_ERRORS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
}


def read_request(body: Any, *, strict: bool = False) -> CompletionRequest:
    """Read a request for a message, or for the number of its tokens. Raises `BadRequest`."""
    given = read_body(body, "messages")
    flatten_object(given, "output_config")
    _split_choice(given)
    translation = Translation(check_parameters(given, PARAMETERS, strict=strict), {**NAMES})
    if "system" in given:
        text = join_texts("system", given["system"], ("text",))
        translation.add_message("system", {"role": "system", "content": text})
    for number, message in enumerate(read_list("messages", given.get("messages"))):
        _read_message(f"messages[{number}]", message, translation)
    for number, tool in enumerate(read_list("tools", given.get("tools", []))):
        _read_tool(f"tools[{number}]", tool, translation)
    _check_format(given.get("output_config.format"))
    translation.copy_fields(given, "max_tokens", "stop", "stream")
    translation.body["tool_choice"] = _read_choice(given.get("tool_choice", {"type": "auto"}))
    return translation.build()


def _read_message(where: str, given: Any, translation: Translation) -> None:
    match given:
        case {"role": "user", "content": content}:
            _read_user_blocks(f"{where}.content", content, translation)
        case {"role": "assistant", "content": content}:
            _read_reply(f"{where}.content", content, translation)
        case {"role": "system", "content": content}:
            text = join_texts(f"{where}.content", content, ("text",))
            translation.add_message(where, {"role": "system", "content": text})
        case _:
            raise BadRequest(
                where, f"give an object with a role (user, assistant, system) and content, not {format_value(given)}."
            )


def _read_user_blocks(where: str, content: Any, translation: Translation) -> None:
    """Translate tool results to messages of their own, and adjacent texts and images to one message."""
    is_open = False
    """Whether the next text or image belongs to the last message."""
    for place, block in read_parts(where, content, ("text",)) or [(where, {"type": "text", "text": ""})]:
        if block["type"] == "tool_result":
            text = join_texts(f"{place}.content", "" if block.get("content") is None else block["content"], ("text",))
            translation.add_result(place, block, "tool_use_id", text)
            is_open = False
            continue
        if not is_open:
            translation.add_message(place, {"role": "user", "content": []})
            is_open = True
        match block:
            case {"type": "text"}:
                translation.add_part(place, {"type": "text", "text": block["text"]})
            case {"type": "image", "source": {"type": "base64", "media_type": str(kind), "data": str(data)}}:
                translation.add_picture(place, f"data:{kind};base64,{data}")
            case {"type": "image", "source": source}:
                form = '{"type": "base64", "media_type": "image/png", "data": "…"}'
                raise BadRequest(f"{place}.source", f"give {form}, not {format_value(source)}.")
            case _:
                raise make_type_error(place, block, _USER)


def _read_reply(where: str, content: Any, translation: Translation) -> None:
    message: dict[str, Any] = {"role": "assistant", "content": ""}
    translation.add_message(where, message)
    for place, block in read_parts(where, content, ("text",)):
        match block:
            case {"type": "text", "text": text}:
                message["content"] += text
            case {"type": "tool_use", "id": str(name), "name": str(tool), "input": Mapping() as values}:
                translation.add_call(place, name, tool, json.dumps(values), "input")
            case {"type": "tool_use"}:
                form = '{"type": "tool_use", "id": "…", "name": "…", "input": {…}}'
                raise BadRequest(place, f"give {form}, not {format_value(block)}.")
            case {"type": "thinking"}:  # the session keeps the thoughts of its own replies
                read_string(f"{place}.thinking", block.get("thinking"))
            case {"type": "redacted_thinking"}:
                pass
            case _:
                raise make_type_error(place, block, _ASSISTANT)


def _read_tool(where: str, given: Any, translation: Translation) -> None:
    match given:
        case {"name": str(), "input_schema": Mapping()} if given.get("type") in (None, "custom"):
            translation.add_tool(where, given, "input_schema")
        case {"type": str(kind)} if kind != "custom":
            why = f"{format_value(kind)} is not supported. Give tools with an input_schema."
            raise BadRequest(f"{where}.type", why)
        case _:
            form = '{"name": "…", "description": "…", "input_schema": {…}}'
            raise BadRequest(where, f"give {form}, not {format_value(given)}.")


def _split_choice(given: dict[str, Any]) -> None:
    """Move the flag in `tool_choice` to a field of its own, because its policy differs."""
    match given.get("tool_choice"):
        case {"disable_parallel_tool_use": flag, **choice}:
            given["tool_choice"] = choice
            if flag is not None:
                given["tool_choice.disable_parallel_tool_use"] = flag


def _read_choice(given: Any) -> str:
    """Translate `tool_choice`. Raises `BadRequest` for an unknown choice."""
    match given:
        case {"type": "auto" | "none" as name}:
            return str(name)
        case {"type": "any"} | {"type": "tool", "name": str()}:
            return "required"
    form = '{"type": "auto"}, {"type": "any"}, {"type": "tool", "name": "…"} or {"type": "none"}'
    raise BadRequest("tool_choice", f"give {form}, not {format_value(given)}.")


def _check_format(given: Any) -> None:
    """Raise `BadRequest` for an unknown format of replies."""
    match given:
        case None | {"type": "json_schema", "schema": Mapping()}:
            return
    form = '{"type": "json_schema", "schema": {…}}'
    raise BadRequest("output_config.format", f"give {form}, not {format_value(given)}.")


def make_answer(request: CompletionRequest, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the whole answer, a `message` object."""
    (choice,) = answer["choices"]
    message = choice["message"]
    calls = _list_calls(message)
    blocks = [_make_thinking(answer, message["reasoning_content"])] if "reasoning_content" in message else []
    if message["content"] or not calls:
        blocks.append({"type": "text", "text": message["content"]})
    made = {**_make_message(answer, 0), "usage": _count_usage(answer)}
    return {**made, "content": [*blocks, *calls], **_find_stop(choice)}


def _make_message(head: Mapping[str, Any], prompt: int) -> dict[str, Any]:
    """Return an empty message. `prompt` is the number of prompt tokens."""
    return {
        "id": head["id"],
        "type": "message",
        "role": "assistant",
        "model": head["model"],
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _make_usage(prompt, 0, 0),
    }


def _make_thinking(head: Mapping[str, Any], thoughts: str) -> dict[str, Any]:
    """Return the block with a reply's thoughts. Some clients only send blocks with a signature back."""
    return {"type": "thinking", "thinking": thoughts, "signature": head["id"]}


def _list_calls(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    functions = ((call["id"], call["function"]) for call in message.get("tool_calls", ()))
    return [
        {"type": "tool_use", "id": name, "name": function["name"], "input": json.loads(function["arguments"])}
        for name, function in functions
    ]


def _count_usage(answer: Mapping[str, Any]) -> dict[str, Any]:
    usage = answer["usage"]
    thoughts = usage["completion_tokens_details"]["reasoning_tokens"]
    return _make_usage(usage["prompt_tokens"], usage["completion_tokens"], thoughts)


def _make_usage(prompt: int, completion: int, thoughts: int) -> dict[str, Any]:
    return {
        "input_tokens": prompt,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": completion,
        "output_tokens_details": {"thinking_tokens": thoughts},
    }


def _find_stop(choice: Mapping[str, Any]) -> dict[str, str | None]:
    stop = choice.get("stop_reason")
    reason = {"tool_calls": "tool_use", "length": "max_tokens"}.get(choice["finish_reason"], "end_turn")
    if stop is None or reason != "end_turn":
        return {"stop_reason": reason, "stop_sequence": None}
    return {"stop_reason": "stop_sequence", "stop_sequence": stop}


class MessageStream:
    """Writes a streamed answer as the events of a message."""

    def __init__(self, request: CompletionRequest) -> None:
        self._blocks = 0
        """The number of finished blocks."""
        self._has_text = False

    def write(self, part: StreamPart) -> Iterator[str]:
        """Yield the events of the next part."""
        match part:
            case Begun():
                yield _format({"type": "message_start", "message": _make_message(part.head, part.prompt)})
                if part.thoughts:
                    block = _make_thinking(part.head, part.thoughts)
                    yield self._open({**block, "thinking": "", "signature": ""})
                    yield self._add({"type": "thinking_delta", "thinking": block["thinking"]})
                    yield self._add({"type": "signature_delta", "signature": block["signature"]})
                    yield self._close()
            case str():
                if not self._has_text:
                    self._has_text = True
                    yield self._open({"type": "text", "text": ""})
                yield self._add({"type": "text_delta", "text": part})
            case _:
                (choice,) = part["choices"]
                calls = _list_calls(choice["message"])
                if not self._has_text and not calls:
                    yield from self.write("")
                if self._has_text:
                    yield self._close()
                for call in calls:
                    yield self._open({**call, "input": {}})
                    yield self._add({"type": "input_json_delta", "partial_json": json.dumps(call["input"])})
                    yield self._close()
                yield _format({"type": "message_delta", "delta": _find_stop(choice), "usage": _count_usage(part)})
                yield _format({"type": "message_stop"})

    def fail(self, refusal: RequestRefusal) -> str:
        """Return the event of an error after the first part."""
        return _format(format_error(refusal))

    def _open(self, block: Mapping[str, Any]) -> str:
        return _format({"type": "content_block_start", "index": self._blocks, "content_block": block})

    def _add(self, delta: Mapping[str, Any]) -> str:
        return _format({"type": "content_block_delta", "index": self._blocks, "delta": delta})

    def _close(self) -> str:
        self._blocks += 1
        return _format({"type": "content_block_stop", "index": self._blocks - 1})


def _format(event: Mapping[str, Any]) -> str:
    return format_event(event, event["type"])


def format_error(refusal: RequestRefusal) -> dict[str, Any]:
    """Return the body of a refusal in Anthropic's error format."""
    kind = _ERRORS.get(refusal.status, "api_error" if refusal.status >= 500 else "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": str(refusal)}}


MESSAGES = Dialect(read_request, make_answer, MessageStream, format_error, NAMES)
"""Anthropic's Messages API."""
