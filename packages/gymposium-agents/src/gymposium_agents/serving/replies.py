"""OpenAI-compatible replies: whole answers, and streams of chunks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from gymposium.http.requests import RequestRefusal, format_openai_error
from gymposium.replies.thoughts import find_leading_thoughts
from gymposium.tasks.tools.calls import format_calls
from gymposium.tasks.tools.reader import ToolsReader
from gymposium.util.visible import is_encodable
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.tokens import Completion, Message
from gymposium_agents.serving.requests import CompletionRequest


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """A sampled reply, parsed as a message."""

    message: Message
    """The reply in the form that a client gets and sends back: text without thoughts, and tool calls."""
    thoughts: str
    """The thoughts before the message, with their delimiters. Empty without thoughts."""


@dataclass(frozen=True, slots=True)
class Begun:
    """The beginning of a streamed answer, known before its content."""

    head: Mapping[str, Any]
    """The answer's `id`, `created` and `model`."""
    prompt: int
    """The number of prompt tokens."""
    thoughts: str
    """The thoughts before the content, without delimiters."""


StreamPart = Begun | str | Mapping[str, Any]
"""A part of a streamed answer: the beginning, then pieces of content, then the whole answer."""


def parse_reply(request: CompletionRequest, chat: Chat, completion: Completion) -> ParsedReply:
    """Parse the reply to a request. Tool calls are read in the dialect of the chat template, with the text before them
    as content. Text after them is not read as a call. A reply without calls becomes content unchanged, up to a stop
    text. The same holds for a reply with half of a surrogate pair in a call, which no answer can contain."""
    text = chat.read(completion.ids)
    text = text[: _find_stop(request, chat, text)[0]]
    _, _, behind = find_leading_thoughts(text) or (0, 0, 0)
    thoughts, content = text[:behind], text[behind:]
    if request.tools and chat.dialect is not None and completion.finish_reason == "stop":
        begins = max(0, content.find(chat.dialect.opening))
        parts = ToolsReader(chat.dialect, request.tools).parts(content[begins:])
        if parts is not None and is_encodable(format_calls(parts[1])):
            said = content[:begins].strip()
            return ParsedReply({"role": "assistant", "content": said, "tool_calls": parts[1]}, thoughts)
    return ParsedReply({"role": "assistant", "content": content}, thoughts)


def _find_stop(request: CompletionRequest, chat: Chat, text: str) -> tuple[int, str | None]:
    """Return the index of the first stop text in a reply, and the stop text. Returns the reply's length and None
    without one."""
    found = ((text.find(stop, len(chat.opened)), stop) for stop in request.stop)
    return min(((at, stop) for at, stop in found if at >= 0), default=(len(text), None))


def make_answer(
    request: CompletionRequest,
    chat: Chat,
    said: ParsedReply,
    completion: Completion,
    head: Mapping[str, Any],
    prompt: int,
) -> dict[str, Any]:
    """Return the whole answer to a request, a `chat.completion` object. `head` has its `id`, `created` and `model`.
    `prompt` is the number of prompt tokens. A stop text that ended the reply is its choice's `stop_reason`, as in
    vLLM's API."""
    called = "tool_calls" in said.message
    choice: dict[str, Any] = {
        "index": 0,
        "message": format_message(said, head["id"]),
        "finish_reason": "tool_calls" if called else completion.finish_reason,
        "logprobs": {"content": list_logprobs(chat, completion), "refusal": None} if request.logprobs else None,
    }
    if request.stop and (stop := _find_stop(request, chat, chat.read(completion.ids))[1]) is not None:
        choice["stop_reason"] = stop
    usage = count_usage(prompt, completion, count_thoughts(chat, said, completion))
    return {**head, "object": "chat.completion", "choices": [choice], "usage": usage}


def format_message(said: ParsedReply, name: str) -> dict[str, Any]:
    """Convert the reply to OpenAI's message format. The ids of its calls begin with `name`, the name of the answer."""
    calls = said.message.get("tool_calls", ())
    message: dict[str, Any] = {"role": "assistant", "content": said.message["content"] or (None if calls else "")}
    message["refusal"] = None
    start, end, _ = find_leading_thoughts(said.thoughts) or (0, None, 0)
    if thoughts := said.thoughts[start:end].strip():
        message["reasoning_content"] = thoughts
    if calls:
        message["tool_calls"] = [
            {
                "id": f"call-{name}-{number}",
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments_json},
            }
            for number, call in enumerate(calls)
        ]
    return message


def count_usage(prompt: int, completion: Completion, thoughts: int) -> dict[str, Any]:
    """Return the token counts. `thoughts` is the number of the reply's tokens that are thoughts."""
    sampled = len(completion.ids)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": sampled,
        "total_tokens": prompt + sampled,
        "completion_tokens_details": {"reasoning_tokens": thoughts},
    }


def count_thoughts(chat: Chat, said: ParsedReply, completion: Completion) -> int:
    """Return the number of the reply's tokens that are thoughts, including their delimiters."""
    if not said.thoughts:
        return 0
    begins = accumulate(map(len, chat.pieces(completion.ids)), initial=len(chat.opened))
    return sum(begin < len(said.thoughts) for begin, _ in zip(begins, completion.ids))


def list_logprobs(chat: Chat, completion: Completion) -> list[dict[str, Any]]:
    """Return the log-probability of each reply token, including the end of turn."""
    return [
        {"token": piece, "logprob": logprob, "bytes": list(piece.encode()), "top_logprobs": []}
        for piece, logprob in zip(chat.pieces(completion.ids), completion.logprobs, strict=True)
    ]


class ChatStream:
    """Writes a streamed answer as server-sent events with `chat.completion.chunk` objects."""

    def __init__(self, request: CompletionRequest) -> None:
        self._usage = request.usage

    def write(self, part: StreamPart) -> Iterator[str]:
        """Yield the events of the next part."""
        match part:
            case Begun():
                self._head = part.head
                yield self._write_delta({"role": "assistant", "content": ""})
                if part.thoughts:
                    yield self._write_delta({"reasoning_content": part.thoughts})
            case str():
                yield self._write_delta({"content": part})
            case _:
                (choice,) = part["choices"]
                if calls := choice["message"].get("tool_calls"):
                    yield self._write_delta({"tool_calls": [{"index": n, **call} for n, call in enumerate(calls)]})
                last = self._make_chunk({}, choice["finish_reason"])
                last["choices"][0]["logprobs"] = choice["logprobs"]
                yield format_event(last)
                if self._usage:
                    yield format_event({**self._make_chunk({}), "choices": [], "usage": part["usage"]})
                yield format_event("[DONE]")

    def fail(self, refusal: RequestRefusal) -> str:
        """Return the event of an error after the first part."""
        return format_event(format_openai_error(refusal))

    def _write_delta(self, delta: Mapping[str, Any]) -> str:
        return format_event(self._make_chunk(delta))

    def _make_chunk(self, delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": dict(delta), "finish_reason": finish, "logprobs": None}
        usage = {"usage": None} if self._usage else {}
        return {**self._head, "object": "chat.completion.chunk", "choices": [choice], **usage}


def format_event(data: Any, name: str | None = None) -> str:
    """Return a server-sent event with JSON, or with a text."""
    text = data if isinstance(data, str) else json.dumps(data, separators=(",", ":"))
    return f"data: {text}\n\n" if name is None else f"event: {name}\ndata: {text}\n\n"
