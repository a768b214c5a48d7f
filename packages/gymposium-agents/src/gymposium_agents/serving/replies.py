"""OpenAI-compatible replies: whole answers, and chunks of a stream."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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


def parse_reply(request: CompletionRequest, chat: Chat, completion: Completion) -> ParsedReply:
    """Parse the reply to a request. Tool calls are read in the dialect of the chat template, with the text before them
    as content. Text after them is not read as a call. A reply without calls becomes content unchanged, up to a stop
    text. The same holds for a reply with half of a surrogate pair in a call, which no answer can contain."""
    text = chat.read(completion.ids)
    ends = [at for stop in request.stop if (at := text.find(stop, len(chat.opened))) >= 0]
    text = text[: min(ends, default=len(text))]
    _, _, behind = find_leading_thoughts(text) or (0, 0, 0)
    thoughts, content = text[:behind], text[behind:]
    if request.tools and chat.dialect is not None and completion.finish_reason == "stop":
        begins = max(0, content.find(chat.dialect.opening))
        parts = ToolsReader(chat.dialect, request.tools).parts(content[begins:])
        if parts is not None and is_encodable(format_calls(parts[1])):
            said = content[:begins].strip()
            return ParsedReply({"role": "assistant", "content": said, "tool_calls": parts[1]}, thoughts)
    return ParsedReply({"role": "assistant", "content": content}, thoughts)


def make_answer(
    request: CompletionRequest,
    chat: Chat,
    said: ParsedReply,
    completion: Completion,
    head: Mapping[str, Any],
    prompt: int,
) -> dict[str, Any]:
    """Return the whole answer to a request, a `chat.completion` object. `head` has its `id`, `created` and `model`.
    `prompt` is the number of prompt tokens."""
    called = "tool_calls" in said.message
    choice: dict[str, Any] = {
        "index": 0,
        "message": format_message(said, head["id"]),
        "finish_reason": "tool_calls" if called else completion.finish_reason,
        "logprobs": {"content": list_logprobs(chat, completion), "refusal": None} if request.logprobs else None,
    }
    usage = count_usage(prompt, completion)
    return {**head, "object": "chat.completion", "choices": [choice], "usage": usage}


def format_message(said: ParsedReply, name: str) -> dict[str, Any]:
    """Convert the reply to OpenAI's message format. The ids of its calls begin with `name`, the name of the answer."""
    calls = said.message.get("tool_calls", ())
    message: dict[str, Any] = {"role": "assistant", "content": said.message["content"] or (None if calls else "")}
    message["refusal"] = None
    if said.thoughts:
        start, end, _ = find_leading_thoughts(said.thoughts) or (0, None, 0)
        message["reasoning_content"] = said.thoughts[start:end].strip()
    if calls:
        message["tool_calls"] = [
            {
                "id": f"call-{name}-{number}",
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments), ensure_ascii=False)},
            }
            for number, call in enumerate(calls)
        ]
    return message


def count_usage(prompt: int, completion: Completion) -> dict[str, int]:
    """Return the token counts."""
    sampled = len(completion.ids)
    return {"prompt_tokens": prompt, "completion_tokens": sampled, "total_tokens": prompt + sampled}


def list_logprobs(chat: Chat, completion: Completion) -> list[dict[str, Any]]:
    """Return the log-probability of each reply token, including the end of turn."""
    return [
        {"token": piece, "logprob": logprob, "bytes": list(piece.encode()), "top_logprobs": []}
        for piece, logprob in zip(chat.pieces(completion.ids), completion.logprobs, strict=True)
    ]


def make_last_chunks(answered: Mapping[str, Any], request: CompletionRequest, shown: str) -> list[dict[str, Any]]:
    """Return the chunks at the end of an answer's stream: content after the part already `shown`, the finish reason,
    and token counts if requested."""
    (choice,) = answered["choices"]
    message = choice["message"]
    deltas: list[dict[str, Any]] = [] if shown else [{"role": "assistant", "content": ""}]
    if reasoning := message.get("reasoning_content"):
        deltas.append({"reasoning_content": reasoning})
    if rest := (message["content"] or "").removeprefix(shown):
        deltas.append({"content": rest})
    if calls := message.get("tool_calls"):
        deltas.append({"tool_calls": [{"index": number, **call} for number, call in enumerate(calls)]})
    made = [make_chunk(answered, delta) for delta in deltas]
    last = make_chunk(answered, {}, choice["finish_reason"])
    last["choices"][0]["logprobs"] = choice["logprobs"]
    made.append(last)
    if request.usage:
        made.append({**make_chunk(answered, {}), "choices": [], "usage": answered["usage"]})
    return made


def make_chunk(head: Mapping[str, Any], delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
    """Return one chunk of a stream. `head` has the answer's `id`, `created` and `model`."""
    choice = {"index": 0, "delta": dict(delta), "finish_reason": finish, "logprobs": None}
    names = ("id", "created", "model")
    return {**{name: head[name] for name in names}, "object": "chat.completion.chunk", "choices": [choice]}
