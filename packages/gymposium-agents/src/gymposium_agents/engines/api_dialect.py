"""What the dialects of chat services share: answers, reasons why a reply ended, and calls in a service's own form."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gymposium.replies.reading import MAX_REPLY
from gymposium.tasks.tools import Call
from gymposium.util.strict_json import parse_strict_json
from gymposium.util.visible import is_encodable
from gymposium_agents.chat.tokens import Message, NativeReply

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
    """The reply in the service's own form, if it has calls with ids."""
    has_thoughts: bool = False
    """Whether the reply has thoughts outside its text."""


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


def read_count(usage: Mapping[str, Any], name: str) -> int | None:
    """Return a token count, or None if the service did not report it. Raises `NoReply` for anything else."""
    count = usage.get(name)
    if count is None or (type(count) is int and 0 <= count <= MOST_TOKENS):
        return count
    raise NoReply(f"usage.{name} is not a token count")
