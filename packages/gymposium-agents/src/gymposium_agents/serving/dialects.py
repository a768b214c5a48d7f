"""Protocols for completions over HTTP, which differ only in the form of requests and answers.

Each dialect has policies for its own fields, and translates the honored ones to OpenAI's chat completions. So one code
path reads the messages and the tools, and all sessions, tokens and retries are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from gymposium.http.requests import RequestRefusal, format_openai_error
from gymposium_agents.serving.replies import ChatStream, StreamPart
from gymposium_agents.serving.requests import PARAMETERS, BadRequest, CompletionRequest, Parameter, format_value

SHARED: Mapping[str, Parameter] = {
    name: parameter
    for name, parameter in PARAMETERS.items()
    if parameter.policy == "refused" or name in ("temperature", "top_k", "top_logprobs", "top_p")
}
"""Fields with the same policy in all dialects."""


class RequestReader(Protocol):
    """Reads requests in JSON bodies."""

    def __call__(self, body: Any, *, strict: bool = False) -> CompletionRequest:
        """Read the request in a body, like `CompletionRequest.read`. Raises `BadRequest`."""


class AnswerStream(Protocol):
    """Writes a streamed answer as server-sent events."""

    def write(self, part: StreamPart) -> Iterator[str]:
        """Yield the events of the next part."""

    def fail(self, refusal: RequestRefusal) -> str:
        """Return the event of an error after the first part."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """A form of requests, answers and errors."""

    read: RequestReader
    make_answer: Callable[[CompletionRequest, Mapping[str, Any]], Mapping[str, Any]]
    """Returns the whole answer to a request, given the `chat.completion` object."""
    make_stream: Callable[[CompletionRequest], AnswerStream]
    format_error: Callable[[RequestRefusal], Mapping[str, Any]]
    names: Mapping[str, str] = field(default_factory=dict)
    """This dialect's names for the fields of chat completions, where they differ."""


CHAT = Dialect(CompletionRequest.read, lambda request, answer: answer, ChatStream, format_openai_error)
"""OpenAI's chat completions."""


@dataclass(slots=True)
class Translation:
    """A request, translated field by field to the body of a chat completion."""

    overridden: tuple[str, ...]
    """The request's fields that the run overrides."""
    names: dict[str, str]
    """The request's own name for each translated field."""
    body: dict[str, Any] = field(default_factory=dict)
    """The translated fields other than messages and tools."""
    messages: list[dict[str, Any]] = field(default_factory=list)
    tools: list[dict[str, Any]] = field(default_factory=list)

    def add_message(self, where: str, message: dict[str, Any], **names: str) -> None:
        """Add a message that the request has at `where`. `names` are those of fields in the message."""
        place = f"messages[{len(self.messages)}]"
        self.names[place] = where
        self.names.update({f"{place}.{name}": own for name, own in names.items()})
        self.messages.append(message)

    def copy_fields(self, given: Mapping[str, Any], *names: str) -> None:
        """Copy fields that differ at most in their names. `names` are those in chat completions."""
        for name in names:
            if (own := self.names.get(name, name)) in given:
                self.body[name] = given[own]

    def add_part(self, where: str, part: Mapping[str, Any]) -> None:
        """Add a part to the last message, whose content is a list. The request has it at `where`."""
        content = self.messages[-1]["content"]
        self.names[f"messages[{len(self.messages) - 1}].content[{len(content)}]"] = where
        content.append(part)

    def add_picture(self, where: str, url: Any) -> None:
        """Add an image to the last message, like `add_part`."""
        self.add_part(where, {"type": "image_url", "image_url": {"url": url}})

    def add_call(self, where: str, name: str, tool: str, arguments: str, own: str) -> None:
        """Add a call with the id `name` to the last message. The request has it at `where`, and its arguments, which
        are JSON here, in the field `own`."""
        calls = self.messages[-1].setdefault("tool_calls", [])
        message = f"messages[{len(self.messages) - 1}]"
        place = f"{message}.tool_calls[{len(calls)}]"
        self.names.update({f"{message}.tool_calls": self.names[message], place: where})
        self.names[f"{place}.function.arguments"] = f"{where}.{own}"
        calls.append({"id": name, "type": "function", "function": {"name": tool, "arguments": arguments}})

    def add_result(self, where: str, given: Mapping[str, Any], own: str, text: str) -> None:
        """Add the result of a call, a text. The request has it at `where`, and the call's id in the field `own`."""
        message = {"role": "tool", "tool_call_id": given.get(own), "content": text}
        self.add_message(where, message, tool_call_id=f"{where}.{own}")

    def add_tool(self, where: str, tool: Mapping[str, Any], parameters: str) -> None:
        """Add a tool whose schema the request has in the field `parameters`. Raises `BadRequest` if its description is
        not text."""
        if tool.get("description") is not None:
            read_string(f"{where}.description", tool["description"])
        place = f"tools[{len(self.tools)}].function"
        self.names.update({place: where, f"{place}.parameters": f"{where}.{parameters}"})
        function = {name: tool[name] for name in ("name", "description", "strict") if name in tool}
        self.tools.append({"type": "function", "function": {**function, "parameters": tool.get(parameters)}})

    def build(self) -> CompletionRequest:
        """Build the translated request. Raises `BadRequest`, with the request's own names of fields."""
        body = {**self.body, "messages": self.messages, "tools": self.tools}
        try:
            return CompletionRequest.build(body, self.overridden)
        except BadRequest as error:
            raise error.rename_field(self.names) from None


def flatten_object(given: dict[str, Any], name: str) -> None:
    """Replace a field with an object by the object's fields that are not null, named `name.field`. Raises `BadRequest`
    if it is no object."""
    options = read_object(name, given.pop(name, {}))
    given.update({f"{name}.{option}": value for option, value in options.items() if value is not None})


def read_object(where: str, given: Any) -> Mapping[str, Any]:
    """Return an object. Raises `BadRequest` for anything else."""
    if not isinstance(given, Mapping):
        raise BadRequest(where, f"give an object, not {format_value(given)}.")
    return given


def read_parts(where: str, content: Any, texts: Sequence[str]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the parts of a message's content with their places. A text becomes one part of the first type in `texts`.
    Raises `BadRequest` if the content is neither a text nor a list of objects with a type, or if the text of a part
    with a type in `texts` is missing."""
    if isinstance(content, str):
        return [(where, {"type": texts[0], "text": content})]
    if not isinstance(content, list):
        raise BadRequest(where, f"give text or a list, not {format_value(content)}.")
    parts = [(f"{where}[{number}]", part) for number, part in enumerate(content)]
    for place, part in parts:
        if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
            raise BadRequest(place, f"give an object with a type, not {format_value(part)}.")
        if part["type"] in texts:
            read_string(f"{place}.text", part.get("text"))
    return parts


def join_texts(where: str, content: Any, texts: Sequence[str]) -> str:
    """Return the text of a content with text parts only. Raises `BadRequest`."""
    parts = read_parts(where, content, texts)
    for place, part in parts:
        if part["type"] not in texts:
            raise make_type_error(place, part, texts)
    return "".join(part["text"] for _, part in parts)


def make_type_error(where: str, part: Mapping[str, Any], types: Sequence[str]) -> BadRequest:
    """Return the error for a part of an unsupported type."""
    kind = format_value(part["type"])
    why = f"{kind} is not supported here. Give {', '.join(types)}."
    return BadRequest(f"{where}.type", why)


def read_string(where: str, given: Any) -> str:
    """Return a text. Raises `BadRequest` for anything else."""
    if not isinstance(given, str):
        raise BadRequest(where, f"give text, not {format_value(given)}.")
    return given
