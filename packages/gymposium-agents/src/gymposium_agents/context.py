"""How much of a match a model is told again: which past exchanges stand before the one that asks it now.

`full`: every exchange of the match, the rules in the first. This history only grows.

`truncated`: the same, with `[TRUNCATED]` in place of past thoughts.

`last-4`: the last four exchanges (any number from 1), the rules in the oldest.

`state`: the present position with the rules, and nothing before it.

Where the history only grows, and the chat template does not rewrite it, all turns of a match are one row of tokens.
Otherwise each turn is a row of its own, with its own prompt.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from gymposium.errors import BadOption, GymposiumError, UnknownName
from gymposium.players.protocol import Ask
from gymposium.prompt import Prompt
from gymposium_agents.tokens import Message

_THOUGHTS = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_LAST = re.compile(r"last-([1-9][0-9]*)")

TRUNCATED = "<think>[TRUNCATED]</think>"
"""What stands in past replies where the thoughts were."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One message of the user and what was replied. A retry is an exchange like any other: its message says why the
    last reply was not accepted."""

    first: str
    """The message with the rules, as a conversation begins with it."""
    later: str
    """The message without the rules, for a conversation that has them."""
    reply: str | None = None
    """The raw reply; None where it is still to come."""

    @classmethod
    def of(cls, ask: Ask, prompt: Prompt) -> Exchange:
        """What a seat is told now. A retry is told why its last reply was not accepted."""
        observation = ask.observe(prompt.style)
        return cls(prompt(observation, ask.reason), prompt(observation, ask.reason, rules=False))


class Context(Protocol):
    """Which messages the model gets."""

    @property
    def name(self) -> str:
        """As it is written in settings: `full`, `last-4`."""
        ...

    @property
    def grows(self) -> bool:
        """Whether the messages of a turn always begin with all messages of the turn before and its reply."""
        ...

    @property
    def remembers(self) -> bool:
        """Whether past exchanges are shown, so that what the model reads depends on more than the present."""
        ...

    def messages(self, past: Sequence[Exchange], now: Exchange) -> list[Message]:
        """The conversation that ends with the message of `now`, whose reply is wanted."""
        ...


@dataclass(frozen=True, slots=True)
class _History:
    """The last exchanges as they were, or without their thoughts."""

    name: str
    grows: bool = False
    keeps: int | None = None
    """So many past exchanges, or all."""
    thoughts: bool = True

    @property
    def remembers(self) -> bool:
        return self.keeps != 0

    def messages(self, past: Sequence[Exchange], now: Exchange) -> list[Message]:
        kept = past if self.keeps is None else past[max(0, len(past) - self.keeps) :]
        found: list[Message] = []
        for exchange in kept:
            if exchange.reply is None:
                raise GymposiumError("A past exchange has no reply: give each one its reply before the next begins.")
            said = exchange.later if found else exchange.first
            replied = exchange.reply if self.thoughts else without_thoughts(exchange.reply)
            found += {"role": "user", "content": said}, {"role": "assistant", "content": replied}
        return [*found, {"role": "user", "content": now.later if found else now.first}]


_NAMED: dict[str, Context] = {
    known.name: known
    for known in (_History("full", grows=True), _History("truncated", thoughts=False), _History("state", keeps=0))
}


def context(name: str) -> Context:
    """The context called `name`: `full`, `truncated`, `state`, or `last-4` with any number from 1.

    Raises `UnknownName` with the nearest, or `BadOption` for what is no name at all."""
    if not isinstance(name, str):
        raise BadOption(f"context={name!r}: write 'full', 'truncated', 'last-4' or 'state'.")
    if name in _NAMED:
        return _NAMED[name]
    if found := _LAST.fullmatch(name):
        return _History(name, keeps=int(found[1]))
    hint = None
    if name.startswith("last"):
        hint = "Write last-4 for the last four exchanges, with any number from 1; 'state' keeps none."
    raise UnknownName("context", name, (*_NAMED, "last-4"), hint=hint)


def without_thoughts(reply: str) -> str:
    """`reply` with a placeholder for each of its thoughts: between the tags, up to the end where they were never
    closed, and from the start where the chat template had opened them for the model."""
    before, closed, after = reply.partition("</think>")
    if closed and "<think>" not in before:
        reply = TRUNCATED + after
    return _THOUGHTS.sub(TRUNCATED, reply)


def out_of_context(matches: int, room: str) -> str:
    """The remark that so many matches ended because a prompt left no room for a reply in `room`."""
    return (
        f"{matches} of its matches ended out of context: the prompt left no room for a reply in {room}. Take a shorter "
        f"context= (state, last-4) or prompt=compact, or a model that reads more."
    )
