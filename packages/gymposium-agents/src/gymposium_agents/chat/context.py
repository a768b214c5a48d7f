"""Contexts: the past exchanges of a match that a model reads before the message of the current turn.

`full`: every exchange of the match, with the rules in the first. This history only grows.

`truncated`: the same, with `[TRUNCATED]` in place of past thoughts.

`last-4`: the last four exchanges (any number from 1), with the rules in the oldest.

`state`: the current position with the rules, and nothing before it.

If the history only grows, and the chat template does not rewrite it, all turns of a match are one row of tokens.
Otherwise each turn is a separate row with its own prompt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from gymposium.errors import BadOption, GymposiumError, UnknownName
from gymposium.games.pictures import Picture
from gymposium.games.pictures.pixels import render_png
from gymposium.games.protocol import Game, Observation
from gymposium.players.protocol import Ask
from gymposium.replies.delimiters import THOUGHT
from gymposium.replies.prompt import Prompt
from gymposium.replies.reading import Reader
from gymposium.replies.thoughts import find_answer
from gymposium.tasks.tools import Call, Tool, list_tools, parse_calls
from gymposium.tasks.tools.reader import ToolsReader
from gymposium_agents.chat.tokens import Message, NativeReply

_THOUGHTS = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_LAST = re.compile(r"last-([1-9][0-9]*)")

Pictures = Literal["none", "image", "both"]
"""Whether a user message has the picture of the position: not, instead of the position's text, or beside it."""
_IN_PICTURE = "The picture shows your view of the position.\n"

TRUNCATED = "<think>[TRUNCATED]</think>"
"""The placeholder for thoughts in past replies."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A user message and its reply. A retry is also an exchange: its message says why the last reply was rejected."""

    first: str
    """The message with the rules, for the beginning of a conversation."""
    later: str
    """The message without the rules, for the rest of a conversation."""
    reply: str | None = None
    """The raw reply without its `calls`, or None before it is given."""
    calls: tuple[Call, ...] = ()
    """The tool calls in the reply, if the reader reads tool calls."""
    native: NativeReply | None = None
    """The reply in the form of the chat service that made it, if it has calls."""
    picture: bytes | None = None
    """The picture of the position, as a PNG file, or None if the message has only text."""
    results: tuple[str, ...] = ()
    """The results of the last reply's calls. They replace the user's message if that reply is part of the
    conversation."""

    @classmethod
    def from_ask(cls, ask: Ask, prompt: Prompt, pictures: Pictures = "none") -> Exchange:
        """Make the exchange of an ask, without a reply. In a retry, the message gives the reason.

        Raises `MissingExtra` for pictures without gymposium[images]."""
        return cls.showing(ask.observe(prompt.style), prompt, ask.reason, pictures=pictures, draw=ask.draw_picture)

    @classmethod
    def showing(
        cls,
        observation: Observation,
        prompt: Prompt,
        reason: str | None = None,
        *,
        pictures: Pictures = "none",
        draw: Callable[[], Picture] | None = None,
    ) -> Exchange:
        """Make the exchange for an observation, without a reply. With `reason`, it is a retry. `draw` draws the
        position for `pictures`. Raises the same errors as `from_ask`."""
        answered = isinstance(prompt.reader, ToolsReader) and reason is None
        if pictures == "image":
            observation = replace(observation, text=_IN_PICTURE)
        return cls(
            prompt(observation, reason),
            prompt(observation, reason, rules=False),
            results=tuple(result.text for result in observation.results) if answered else (),
            picture=None if pictures == "none" or draw is None else render_png(draw()),
        )

    @property
    def said(self) -> Message:
        """The message of the reply. Raises `GymposiumError` if there is no reply."""
        if self.reply is None:
            raise GymposiumError("A past exchange has no reply. Give each exchange its reply before the next begins.")
        said: Message = {"role": "assistant", "content": self.reply}
        if self.calls:
            said["tool_calls"] = self.calls
        if self.native is not None:
            said["native"] = self.native
        return said

    def replied(self, reply: str, how: Reader) -> Exchange:
        """Return this exchange with a reply, parsed by the reader `how`."""
        parts = how.parts(reply) if isinstance(how, ToolsReader) else None
        if parts is None:
            return replace(self, reply=reply)
        thoughts, calls = parts
        behind = reply.lstrip().removeprefix(thoughts)
        space = behind[: len(behind) - len(behind.lstrip())] if thoughts else ""
        return replace(self, reply=thoughts + space, calls=calls)

    def answered(self, move: str, how: Reader) -> Exchange:
        """Return this exchange with the canonical reply for a move, in the form that the reader `how` expects."""
        if isinstance(how, ToolsReader):
            return replace(self, reply="", calls=parse_calls(move))
        return replace(self, reply=how.answer(move))


class Context(Protocol):
    """A rule for the messages that the model reads at a turn."""

    @property
    def name(self) -> str:
        """The name in settings, such as `full` or `last-4`."""
        ...

    @property
    def grows(self) -> bool:
        """Whether a turn's messages always begin with the previous turn's messages and reply."""
        ...

    @property
    def remembers(self) -> bool:
        """Whether the messages contain past exchanges."""
        ...

    def messages(self, past: Sequence[Exchange], now: Exchange) -> list[Message]:
        """Return the conversation up to the message of `now`. Each exchange in `past` must have a reply."""
        ...


@dataclass(frozen=True, slots=True)
class _History:
    """A context of the last exchanges, with or without their thoughts."""

    name: str
    grows: bool = False
    keeps: int | None = None
    """The number of past exchanges to show, or None for all."""
    thoughts: bool = True
    """Whether thoughts in past replies are shown."""

    @property
    def remembers(self) -> bool:
        return self.keeps != 0

    def messages(self, past: Sequence[Exchange], now: Exchange) -> list[Message]:
        messages: list[Message] = []
        for exchange in past if self.keeps is None else past[max(0, len(past) - self.keeps) :]:
            said = exchange.said
            if not self.thoughts:
                said["content"] = hide_thoughts(said["content"])
                said.pop("native", None)  # it holds the thoughts
            messages += *_list_opening_messages(exchange, messages), said
        return [*messages, *_list_opening_messages(now, messages)]


def _list_opening_messages(exchange: Exchange, before: Sequence[Message]) -> Sequence[Message]:
    """Return the messages that open an exchange: the tool results if their calls precede it, else the user's
    message."""
    if exchange.results and before and before[-1].get("tool_calls"):
        return [{"role": "tool", "content": text} for text in exchange.results]
    message: Message = {"role": "user", "content": exchange.later if before else exchange.first}
    if exchange.picture is not None:
        message["pictures"] = ((0, exchange.picture),)
    return [message]


def check_pictures(pictures: Pictures, game: Game) -> None:
    """Raise `BadOption` for pictures in a game with tools, whose results are text."""
    if pictures != "none" and list_tools(game):
        raise BadOption(f"prompt={pictures} is only for games without tools. Use prompt=full in {game.name}.")


def list_template_tools(how: Reader, game: Game) -> tuple[Tool, ...]:
    """Return the tools that the chat template lists in a game's prompts. Empty if `how` does not read the template's
    calls, because the messages then describe the tools."""
    return list_tools(game) if isinstance(how, ToolsReader) else ()


_NAMED: dict[str, Context] = {
    known.name: known
    for known in (_History("full", grows=True), _History("truncated", thoughts=False), _History("state", keeps=0))
}


def parse_context(name: str) -> Context:
    """Return the context called `name`: `full`, `truncated`, `state`, or `last-N` with N from 1.

    Raises `UnknownName` for another name, with the nearest one, and `BadOption` for a value that is not text."""
    if not isinstance(name, str):
        raise BadOption(f"context={name!r}: write 'full', 'truncated', 'last-4' or 'state'.")
    if name in _NAMED:
        return _NAMED[name]
    if match := _LAST.fullmatch(name):
        return _History(name, keeps=int(match[1]))
    hint = "Write last-4 for the last four exchanges, with any number from 1; 'state' keeps none."
    raise UnknownName("context", name, (*_NAMED, "last-4"), hint=hint if name.startswith("last") else None)


def hide_thoughts(reply: str) -> str:
    """Return `reply` with a placeholder for each of its thoughts. A thought without a closing tag extends to the end. A
    thought opened by the chat template begins at the start. Thoughts in other models' delimiters
    (`gymposium.replies.thoughts`) get one placeholder at the start."""
    first = THOUGHT.search(reply)
    if first is not None and first[0] not in ("<think>", "</think>"):
        found = find_answer(reply)
        return f"{TRUNCATED}{found.text}" if found.thoughts else reply
    before, closed, after = reply.partition("</think>")
    if closed and "<think>" not in before:
        reply = TRUNCATED + after
    return _THOUGHTS.sub(TRUNCATED, reply)


def describe_full_context(matches: int, context: str) -> str:
    """Return a remark about the matches that ended because a prompt left no space for a reply in `context`."""
    return (
        f"{matches} of its matches ended out of context: the prompt left no space for a reply in {context}. Use a "
        f"shorter context= (state, last-4) or prompt=compact, or a model with a longer context."
    )
