"""OpenAI's Responses API: requests, answers and streams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gymposium.http.requests import RequestRefusal, format_openai_error
from gymposium_agents.serving.dialects import (
    SHARED,
    Dialect,
    Translation,
    flatten_object,
    join_texts,
    make_type_error,
    read_object,
    read_parts,
    read_string,
)
from gymposium_agents.serving.replies import Begun, StreamPart, format_event
from gymposium_agents.serving.requests import (
    HONORED,
    LABELS,
    UNKNOWN,
    BadRequest,
    CompletionRequest,
    Parameter,
    check_parameters,
    format_value,
    read_body,
    read_list,
)

NAMES = {"messages": "input", "max_tokens": "max_output_tokens"}
"""The names of the fields of chat completions, where they differ."""
_STATELESS = (
    "Responses are not stored. Send the whole conversation as the input of each request: the earlier input, the output "
    "items of each response, and the new items."
)
PARAMETERS: Mapping[str, Parameter] = {
    **SHARED,
    **dict.fromkeys("include input instructions max_output_tokens stream tools".split(), HONORED),
    **LABELS,
    **dict.fromkeys("client_metadata max_tool_calls stream_options".split(), HONORED),  # labels, too
    **dict.fromkeys(
        ("context_management", "moderation", "reasoning.summary", "reasoning.generate_summary"), Parameter("overridden")
    ),
    **dict.fromkeys(("reasoning.context", "reasoning.effort", "reasoning.mode", "text.verbosity"), UNKNOWN),
    "parallel_tool_calls": Parameter("overridden", (True,)),
    "text.format": Parameter("overridden", ({"type": "text"},)),
    "tool_choice": Parameter("overridden", ("auto", "none")),
    "truncation": Parameter("overridden", ("disabled",)),
    "background": Parameter("refused", (False,), fix="Responses are not stored. Wait for the response, or stream it."),
    "previous_response_id": Parameter("refused", fix=_STATELESS),
    "conversation": Parameter("refused", fix=_STATELESS),
    "prompt": Parameter("refused", fix="Prompts are not stored. Send instructions and input."),
    "messages": Parameter("refused", fix="Send the conversation as input."),
}
"""The fields of a request. Unknown fields are overridden, and refused by strict servers."""
_TEXTS = ("input_text", "output_text", "text")
_ITEMS = ("message", "function_call", "function_call_output", "reasoning")
LOGPROBS = "message.output_text.logprobs"
"""The value in `include` that requests the log-probabilities of the reply's tokens."""


def read_request(body: Any, *, strict: bool = False) -> CompletionRequest:
    """Read a request for a response. Raises `BadRequest`."""
    given = read_body(body, "input")
    for name in ("reasoning", "text"):
        flatten_object(given, name)
    translation = Translation(check_parameters(given, PARAMETERS, strict=strict), {**NAMES})
    if "instructions" in given:
        text = read_string("instructions", given["instructions"])
        translation.add_message("instructions", {"role": "system", "content": text})
    _read_input(given.get("input"), translation)
    for number, tool in enumerate(read_list("tools", given.get("tools", []))):
        _read_tool(f"tools[{number}]", tool, translation)
    _check_format(given.get("text.format"))
    translation.copy_fields(given, "max_tokens", "stream")
    choice = _read_choice(given.get("tool_choice", "auto"))
    included = [
        read_string(f"include[{n}]", one) for n, one in enumerate(read_list("include", given.get("include", [])))
    ]
    translation.body.update(tool_choice=choice, logprobs=LOGPROBS in included)
    repeated = {
        "instructions": given.get("instructions"),
        "metadata": read_object("metadata", given.get("metadata", {})),
        "max_output_tokens": given.get("max_output_tokens"),
        "tool_choice": "none" if choice == "none" else "auto",
    }
    return replace(translation.build(), repeated=repeated)


def _read_input(given: Any, translation: Translation) -> None:
    """Translate the items. A reply is a message, calls, or a message and then calls."""
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
    if not isinstance(given, list):
        raise BadRequest("input", f"give text or a list of items, not {format_value(given)}.")
    extends_reply = False
    """Whether a call belongs to the last message."""
    for number, item in enumerate(given):
        where = f"input[{number}]"
        if not isinstance(item, Mapping) or not isinstance(kind := item.get("type") or "message", str):
            raise BadRequest(where, f"give an object with a type ({', '.join(_ITEMS)}), not {format_value(item)}.")
        match kind:
            case "message":
                _read_message(where, item, translation)
                extends_reply = item["role"] == "assistant"
            case "function_call":
                if not extends_reply:
                    translation.add_message(where, {"role": "assistant", "content": ""})
                    extends_reply = True
                _read_call(where, item, translation)
            case "function_call_output":
                text = join_texts(f"{where}.output", item.get("output"), _TEXTS)
                translation.add_result(where, item, "call_id", text)
                extends_reply = False
            case "reasoning":  # the session keeps the thoughts of its own replies
                extends_reply = False
            case "item_reference":
                raise BadRequest(f"{where}.type", "items are not stored. Send whole items (Vercel AI: store: false).")
            case _:
                raise make_type_error(where, {"type": kind}, _ITEMS)


def _read_message(where: str, given: Mapping[str, Any], translation: Translation) -> None:
    role = given.get("role")
    if role not in ("user", "assistant", "system", "developer"):
        raise BadRequest(f"{where}.role", f"give user, assistant, system or developer, not {format_value(role)}.")
    translation.add_message(where, {"role": role, "content": []})
    for place, part in read_parts(f"{where}.content", given.get("content"), _TEXTS):
        match part["type"]:
            case "refusal":
                text = read_string(f"{place}.refusal", part.get("refusal"))
                translation.add_part(place, {"type": "text", "text": text})
            case "input_image" if role == "user":
                translation.add_picture(place, part.get("image_url"))
            case kind if kind in _TEXTS:
                translation.add_part(place, {"type": "text", "text": part["text"]})
            case _:
                raise make_type_error(place, part, (*_TEXTS[:2], "input_image") if role == "user" else _TEXTS[:2])


def _read_call(where: str, given: Mapping[str, Any], translation: Translation) -> None:
    match given:
        case {"call_id": str(name), "name": str(tool), "arguments": str(arguments)}:
            translation.add_call(where, name, tool, arguments, "arguments")
        case _:
            form = '{"type": "function_call", "call_id": "…", "name": "…", "arguments": "{…}"}'
            raise BadRequest(where, f"give {form}, not {format_value(given)}.")


def _read_tool(where: str, given: Any, translation: Translation) -> None:
    match given:
        case {"type": "function", "name": str()} if isinstance(given.get("parameters"), Mapping | None):
            translation.add_tool(where, given, "parameters")
        case {"type": str(kind)} if kind != "function":
            why = f"{format_value(kind)} is not supported. Give tools of the type function."
            raise BadRequest(f"{where}.type", why)
        case _:
            form = '{"type": "function", "name": "…", "parameters": {…}}'
            raise BadRequest(where, f"give {form}, not {format_value(given)}.")


def _read_choice(given: Any) -> Any:
    """Translate `tool_choice`."""
    match given:
        case {"type": "function", "name": str(name)}:
            return {"type": "function", "function": {"name": name}}
    return given


def _check_format(given: Any) -> None:
    """Raise `BadRequest` for an unknown format of replies."""
    match given:
        case None | {"type": "text" | "json_object"} | {"type": "json_schema", "schema": Mapping()}:
            return
    why = f"give the type text, json_object, or json_schema with a schema, not {format_value(given)}."
    raise BadRequest("text.format", why)


def make_answer(request: CompletionRequest, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the whole answer, a `response` object."""
    (choice,) = answer["choices"]
    message = choice["message"]
    status = "incomplete" if choice["finish_reason"] == "length" else "completed"
    calls = _list_calls(answer, status)
    items = [_make_reasoning(answer, message["reasoning_content"])] if "reasoning_content" in message else []
    if message["content"] or not calls:
        logprobs = [] if choice["logprobs"] is None else choice["logprobs"]["content"]
        items.append(_make_message(answer, status, [_make_text(message["content"], logprobs)]))
    usage = answer["usage"]
    return {
        **_make_response(answer, request, status),
        "output": [*items, *calls],
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "usage": {
            "input_tokens": usage["prompt_tokens"],
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": usage["completion_tokens"],
            "output_tokens_details": usage["completion_tokens_details"],
            "total_tokens": usage["total_tokens"],
        },
    }


def _make_response(head: Mapping[str, Any], request: CompletionRequest, status: str) -> dict[str, Any]:
    """Return a response without output."""
    tools = [{"type": "function", "strict": False, **tool.as_function["function"]} for tool in request.tools]
    return {
        "id": head["id"],
        "object": "response",
        "created_at": head["created"],
        "model": head["model"],
        "status": status,
        "error": None,
        "incomplete_details": None,
        "output": [],
        "tools": tools,
        "parallel_tool_calls": True,
        "usage": None,
        "temperature": None,
        "top_p": 1.0,
        "text": {"format": {"type": "text"}},
        "truncation": "disabled",
        "background": False,
        "store": False,
        "previous_response_id": None,
        **request.repeated,
    }


def _make_reasoning(head: Mapping[str, Any], thoughts: str) -> dict[str, Any]:
    content = [{"type": "reasoning_text", "text": thoughts}]
    return {"type": "reasoning", "id": f"rs-{head['id']}", "summary": [], "content": content, "status": "completed"}


def _make_message(head: Mapping[str, Any], status: str, content: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "type": "message",
        "id": f"msg-{head['id']}",
        "role": "assistant",
        "status": status,
        "content": content,
    }


def _make_text(text: str, logprobs: list[Any]) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": logprobs}


def _list_calls(answer: Mapping[str, Any], status: str) -> list[dict[str, Any]]:
    (choice,) = answer["choices"]
    return [
        {
            "type": "function_call",
            "id": f"fc-{answer['id']}-{number}",
            "call_id": call["id"],
            "name": call["function"]["name"],
            "arguments": call["function"]["arguments"],
            "status": status,
        }
        for number, call in enumerate(choice["message"].get("tool_calls", ()))
    ]


class ResponseStream:
    """Writes a streamed answer as the events of a response."""

    def __init__(self, request: CompletionRequest) -> None:
        self._request = request
        self._events = 0
        self._items = 0
        """The number of finished items."""
        self._has_text = False

    def write(self, part: StreamPart) -> Iterator[str]:
        """Yield the events of the next part."""
        match part:
            case Begun():
                self._head = part.head
                begun = _make_response(part.head, self._request, "in_progress")
                yield self._format("response.created", response=begun)
                yield self._format("response.in_progress", response=begun)
                if part.thoughts:
                    yield from self._write_reasoning(part.thoughts)
            case str():
                if not self._has_text:
                    self._has_text = True
                    item = _make_message(self._head, "in_progress", [])
                    yield self._format("response.output_item.added", output_index=self._items, item=item)
                    yield self._format("response.content_part.added", **self._locate(item), part=_make_text("", []))
                place = self._locate(_make_message(self._head, "in_progress", []))
                yield self._format("response.output_text.delta", **place, delta=part, logprobs=[])
            case _:
                answer = make_answer(self._request, part)
                for item in answer["output"]:
                    match item:
                        case {"type": "message"}:
                            yield from self._finish_message(item)
                        case {"type": "function_call"}:
                            yield from self._write_call(item)
                yield self._format(f"response.{answer['status']}", response=answer)

    def fail(self, refusal: RequestRefusal) -> str:
        """Return the event of an error after the first part. OpenAI's clients raise only for the field `error`."""
        error = format_openai_error(refusal)["error"]
        fields = {name: error[name] for name in ("code", "message", "param")}
        return self._format("error", **fields, error=error)

    def _write_reasoning(self, thoughts: str) -> Iterator[str]:
        item = _make_reasoning(self._head, thoughts)
        (whole,) = item["content"]
        place = self._locate(item)
        yield self._format(
            "response.output_item.added",
            output_index=self._items,
            item={**item, "content": [], "status": "in_progress"},
        )
        yield self._format("response.content_part.added", **place, part={**whole, "text": ""})
        yield self._format("response.reasoning_text.delta", **place, delta=thoughts)
        yield self._format("response.reasoning_text.done", **place, text=thoughts)
        yield from self._finish(item, whole)

    def _finish_message(self, item: Mapping[str, Any]) -> Iterator[str]:
        if not self._has_text:
            yield from self.write("")
        (whole,) = item["content"]
        texts = {"text": whole["text"], "logprobs": whole["logprobs"]}
        yield self._format("response.output_text.done", **self._locate(item), **texts)
        yield from self._finish(item, whole)

    def _finish(self, item: Mapping[str, Any], part: Mapping[str, Any]) -> Iterator[str]:
        """Yield the last events of an item with one part."""
        yield self._format("response.content_part.done", **self._locate(item), part=part)
        yield self._format("response.output_item.done", output_index=self._items, item=item)
        self._items += 1

    def _write_call(self, item: Mapping[str, Any]) -> Iterator[str]:
        place = {"item_id": item["id"], "output_index": self._items}
        arguments = item["arguments"]
        empty = {**item, "arguments": "", "status": "in_progress"}
        yield self._format("response.output_item.added", output_index=self._items, item=empty)
        yield self._format("response.function_call_arguments.delta", **place, delta=arguments)
        yield self._format("response.function_call_arguments.done", **place, name=item["name"], arguments=arguments)
        yield self._format("response.output_item.done", output_index=self._items, item=item)
        self._items += 1

    def _locate(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """Return the place of an item's part."""
        return {"item_id": item["id"], "output_index": self._items, "content_index": 0}

    def _format(self, kind: str, **fields: Any) -> str:
        self._events += 1
        return format_event({"type": kind, "sequence_number": self._events - 1, **fields}, kind)


RESPONSES = Dialect(read_request, make_answer, ResponseStream, format_openai_error, NAMES)
"""OpenAI's Responses API."""
