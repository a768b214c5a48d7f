"""The memory of one session: the model's replies, and the tokens before each.

A request is matched with the replies by a chain of digests, one per message. If its last reply is known, with the same
messages before it, its prompt is the tokens of that reply and everything new after it. Branches, conversations of
several agents and summarized histories therefore find their own beginnings, and each becomes a separate row.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal

from gymposium.tasks.tools import Call, Tool
from gymposium_agents.chat.chat import Chat, Rendering
from gymposium_agents.chat.tokens import Message, Tokens, TurnTokens
from gymposium_agents.serving.replies import ParsedReply
from gymposium_agents.serving.requests import CompletionRequest

Beginning = Literal["fresh", "grown", "rewritten", "diverged"]
"""How a prompt begins.

- `grown`: with the tokens of an earlier reply, as sampled.
- `fresh`: from scratch, because the request has no reply of this session, or other messages before it.
- `rewritten`: from scratch, because the chat template renders the messages before a past reply differently.
- `diverged`: from scratch, because the client changed a reply of this session before sending it back.
"""


@dataclass(frozen=True, slots=True)
class Prompt:
    """The prompt of a request."""

    ids: Tokens
    beginning: Beginning
    parent: int | None
    """The number of the turn whose tokens the prompt begins with. None unless the beginning is `grown`."""
    new: int
    """The index of the first message that is new since that turn. 0 unless the beginning is `grown`."""
    differs: str
    """The first field of the request that the client changed, if the beginning is `diverged`. Otherwise empty."""
    rendering: Rendering
    digests: tuple[str, ...]
    """The digest of the request up to each message."""


@dataclass(frozen=True, slots=True)
class _KnownReply:
    """A reply of the session."""

    number: int
    said: Message
    """The reply with its thoughts, as passed to the template."""
    rendering: Rendering
    """The rendered conversation before the reply."""
    tokens: TurnTokens


class Memory:
    """The replies of one session, by the conversations they end."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._known: dict[str, _KnownReply] = {}
        self._answered: dict[str, Message] = {}
        """The latest reply to each request, by the request's digest."""
        self._begun: set[str] = set()
        """The digests of all beginnings of conversations in this session."""

    def prompt(self, request: CompletionRequest) -> Prompt:
        """Return the prompt of a request. Raises `GymposiumError` if the chat template rejects the messages or the
        tools."""
        chat, messages = self._chat, request.messages
        digests = _compute_digests(messages, request.tools)
        last = max((n for n, message in enumerate(messages) if message["role"] == "assistant"), default=-1)
        known = self._known.get(digests[last]) if last >= 0 else None
        written = self._restore_thoughts(messages, digests)
        rendering = chat.rendering(written, request.tools)
        beginning: Beginning = "fresh"
        if known is not None:
            sampled = known.tokens.completion.ids
            ended = sampled[-1:] == (chat.end,)
            more = chat.continued(known.rendering, known.said, rendering, ended=ended)
            if more is not None:
                ids = (*known.tokens.prompt, *sampled, *more)
                return Prompt(ids, "grown", known.number, last + 1, "", rendering, digests)
            beginning = "rewritten"
        differs = "" if known is not None or last < 0 else self._find_difference(messages, digests, last)
        if differs:
            beginning = "diverged"
        return Prompt(chat.ids(rendering), beginning, None, 0, differs, rendering, digests)

    def keep(self, number: int, prompt: Prompt, said: ParsedReply, tokens: TurnTokens) -> None:
        """Keep the reply to the request with this prompt, as turn `number`."""
        whole: Message = {**said.message, "content": f"{said.thoughts}{said.message['content']}"}
        behind = _compute_digest(prompt.digests[-1], said.message)
        self._known[behind] = _KnownReply(number, whole, prompt.rendering, tokens)
        self._answered[prompt.digests[-1]] = said.message
        self._begun |= {*prompt.digests, behind}

    def _restore_thoughts(self, messages: Sequence[Message], digests: Sequence[str]) -> list[Message]:
        """Return the messages, with the model's thoughts restored in known replies."""
        known = (self._known.get(digest) for digest in digests)
        return [message if one is None else one.said for message, one in zip(messages, known, strict=True)]

    def _find_difference(self, messages: Sequence[Message], digests: Sequence[str], last: int) -> str:
        """Return the first changed field of the first unknown message, if that message is a changed reply of the
        session. Otherwise returns an empty text. In a repeated request, all messages are known, and the last reply is
        compared. `last` is its index."""
        first = next((n for n, digest in enumerate(digests) if digest not in self._begun), last)
        said = self._answered.get(digests[first - 1]) if first else None
        if said is None or messages[first]["role"] != "assistant":
            return ""
        return f"messages[{first}].{_find_difference(messages[first], said)}"


def _find_difference(given: Message, said: Message) -> str:
    """Return the first field that a client changed in a reply it sent back."""
    if given["content"].strip() != said["content"].strip():
        return "content"
    calls, made = given.get("tool_calls", ()), said.get("tool_calls", ())
    for number, (call, other) in enumerate(zip(calls, made)):
        if call.name != other.name:
            return f"tool_calls[{number}].function.name"
        if call.arguments != other.arguments:
            return f"tool_calls[{number}].function.arguments"
    return "tool_calls"


def _compute_digests(messages: Iterable[Message], tools: Sequence[Tool]) -> tuple[str, ...]:
    """Return the digest of a conversation up to each of its messages, in order."""
    listed = json.dumps([tool.as_function for tool in tools], sort_keys=True)
    digest = sha256(listed.encode()).hexdigest()
    digests = []
    for message in messages:
        digest = _compute_digest(digest, message)
        digests.append(digest)
    return tuple(digests)


def _compute_digest(before: str, message: Message) -> str:
    """Return the digest of a conversation, given the digest before its last message. White space around a reply is
    ignored, because some clients remove it. So are the order of keys and the form of numbers in arguments: JavaScript
    writes 1.0 as 1, and Go sorts keys."""
    role, content = message["role"], message["content"]
    calls = [Call(call.name, _canonicalize(call.arguments)).json for call in message.get("tool_calls", ())]
    pictures = [(place, sha256(picture).hexdigest()) for place, picture in message.get("pictures", ())]
    canonical = [before, role, content.strip() if role == "assistant" else content, calls, pictures]
    return sha256(json.dumps(canonical).encode()).hexdigest()


def _canonicalize(value: Any) -> Any:
    """Return a value of JSON with sorted keys, and with integers in place of equal floating-point numbers."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case Mapping():
            return {name: _canonicalize(value[name]) for name in sorted(value)}
        case list():
            return [*map(_canonicalize, value)]
    return value
