"""The protocol of dialects, in which chat services are asked and answer, and what the dialects share."""

from __future__ import annotations

import base64
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gymposium.replies.reading import MAX_REPLY
from gymposium.tasks.tools import Call, Tool
from gymposium.util.strict_json import parse_strict_json
from gymposium.util.visible import is_encodable, visible
from gymposium_agents.chat.tokens import Message, NativeReply
from gymposium_agents.engines.api_settings import ApiSettings

CUT_OFF = {"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"}
"""Finish reasons of a reply that reached a token limit: OpenAI's and vLLM's, Anthropic's and Gemini's, and other
services'."""
WITHHELD = {
    "content_filter",
    "safety",
    "recitation",
    "prohibited_content",
    "spii",
    "blocklist",
    "refusal",
    "sensitive",
}
"""Finish reasons of a reply ended by a filter: OpenAI's, Gemini's, Anthropic's and GLM's."""
_ENDED = {
    *("stop", "end_turn", "stop_sequence", "eos", "eos_token", "end", "complete", "completed", "finished", "none", ""),
    *("tool_calls", "tool_call", "tool_use", "function_call", "malformed_function_call", "unexpected_tool_call"),
    "function_call_filter",
}
"""Finish reasons of a reply ended by the model, including with a tool call or without a reason."""
KNOWN = CUT_OFF | WITHHELD | _ENDED
MOST_TOKENS = 10**9
"""Largest token count that an answer may report."""


class NoReply(ValueError):
    """Error for an answer that is JSON but has no reply."""


@dataclass(frozen=True, slots=True)
class RawCall:
    """A tool call in an answer."""

    name: str
    arguments: str
    """The arguments as the service wrote them: JSON, if the model made no mistake."""

    @property
    def parsed(self) -> Call | None:
        """The call, or None if the arguments are not an object in JSON."""
        try:
            return Call.parse(
                {"name": self.name, "arguments": parse_strict_json(self.arguments or "{}", any_integer=True)}
            )
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class Answer:
    """A service's answer, checked."""

    text: str
    reasons: set[str]
    """The finish reasons, in lower case."""
    prompt_tokens: int | None
    completion_tokens: int | None
    has_calls: bool = False
    calls: tuple[RawCall, ...] = ()
    """The calls, if tools were offered."""
    native: NativeReply | None = None
    """The reply in the service's own form, if its calls have ids. It is kept only if they are well-formed."""
    has_thoughts: bool = False
    """Whether the reply has thoughts outside its text."""


class ApiDialect(Protocol):
    """A form of requests to a chat service, and of its answers."""

    @property
    def path(self) -> str:
        """The path below the service's address."""
        ...

    @property
    def adaptable(self) -> tuple[str, ...]:
        """The fields that a request may omit or rename if the service refuses them."""
        ...

    def choose_limit(self, settings: ApiSettings) -> str:
        """Return the name of the field that limits the length of a reply."""
        ...

    def make_headers(self, key: str) -> Mapping[str, str]:
        """Return the headers with the key."""
        ...

    def write(self, settings: ApiSettings, messages: Sequence[Message], tools: Sequence[Tool]) -> dict[str, Any]:
        """Return the body of a request, without the model, the limit and how replies are sampled."""
        ...

    def find_error(self, answer: Any) -> Mapping[str, Any] | str | None:
        """Return the service's error in an answer with status 200, or what the answer lacks, or None."""
        ...

    def read(self, answer: Any, *, offered: bool) -> Answer:
        """Read an answer. Services omit different fields, but existing fields must have the right types. Calls are read
        only if tools were `offered`.

        Raises `NoReply` for an answer without a reply."""
        ...


def number_calls(messages: Sequence[Message]) -> Iterator[tuple[Message, tuple[str, ...]]]:
    """Yield each message with the ids of the calls that it makes or, for a result, of the call that it answers."""
    count = 0
    waiting = deque[str]()
    for message in messages:
        ids: tuple[str, ...] = ()
        if calls := message.get("tool_calls", ()):
            native = message.get("native")
            # nine characters, as Mistral's models require
            ids = native.ids if native else tuple(f"{count + place:09d}" for place in range(1, len(calls) + 1))
            count += len(calls)
            waiting = deque(ids)
        elif message["role"] == "tool" and waiting:
            ids = (waiting.popleft(),)
        yield message, ids


def check_text(text: str, where: str) -> str:
    """Return a text of an answer. Raises `NoReply` if it cannot be recorded."""
    if not is_encodable(text):
        raise NoReply(f"{where} has a lone surrogate")
    if len(text) > MAX_REPLY:
        raise NoReply(f"{where} has {len(text):,} characters, and at most {MAX_REPLY:,} are read")
    return text


def get_usage(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the token counts in an answer. Raises `NoReply` if they are not in an object."""
    usage = answer.get("usage")
    return {} if usage is None else require_object(usage, "usage")


def read_count(usage: Mapping[str, Any], name: str) -> int | None:
    """Return a token count, or None if the service did not report it. Raises `NoReply` for anything else."""
    count = usage.get(name)
    if count is None or (type(count) is int and 0 <= count <= MOST_TOKENS):
        return count
    raise NoReply(f"usage.{name} is not a token count")


def make_data_url(picture: bytes) -> str:
    """Return the address that holds a PNG file."""
    return f"data:image/png;base64,{base64.b64encode(picture).decode()}"


def make_native(items: Sequence[Any], ids: Sequence[Any]) -> NativeReply | None:
    """Return a reply with calls as the service expects it back, or None if a call has no id."""
    return NativeReply(tuple(items), tuple(ids)) if all(isinstance(one, str) for one in ids) else None


def drop_empty(item: Mapping[str, Any], *kept: str) -> dict[str, Any]:
    """Return an object of an answer without its empty fields, some of which services refuse in a request."""
    return {name: value for name, value in item.items() if name in kept or value not in (None, [])}


def list_parts(content: Any, where: str) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the parts of a list in an answer, with their types. Raises `NoReply` for anything else."""
    if not isinstance(content, list):
        raise NoReply(f"{where} is not a list")
    return [(get_text(require_object(part, where), where, "type"), part) for part in content]


def require_object(value: Any, where: str) -> Mapping[str, Any]:
    """Return an object in an answer. Raises `NoReply` for anything else."""
    if not isinstance(value, dict):
        raise NoReply(f"{where} is not an object")
    return value


def get_text(part: Mapping[str, Any], where: str, name: str = "text") -> str:
    """Return a text in an answer. Raises `NoReply` for anything else, and for a text that cannot be recorded."""
    text = part.get(name)
    if not isinstance(text, str):
        raise NoReply(f"{where} has no {name}")
    return check_text(text, where)


def check_types(types: set[str], where: str) -> None:
    """Raise `NoReply` if an answer has parts of unknown `types`."""
    if types:
        raise NoReply(f"{where} has parts of unknown types: {visible(str(sorted(types)))}")
