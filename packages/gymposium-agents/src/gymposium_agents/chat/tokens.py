"""The data exchanged by players and engines: messages, token requests, completions, and the tokens of a turn."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NotRequired, TypedDict

from gymposium.tasks.tools import Call

FinishReason = Literal["stop", "length"]
Tokens = tuple[int, ...]
"""A sequence of token ids."""


@dataclass(frozen=True, slots=True)
class NativeReply:
    """A reply with calls in the form of the chat service that made it.

    It is sent back unchanged, because it may hold signed thoughts that the service requires."""

    items: tuple[Any, ...]
    ids: tuple[str, ...]
    """The ids of the calls, in order."""


class Message(TypedDict):
    """One message of a chat."""

    role: str
    """`system`, `user`, `assistant`, or `tool` for the result of a call."""
    content: str
    """The text. In a reply with calls, the text before them."""
    tool_calls: NotRequired[Sequence[Call]]
    """The calls of a reply, in order. The following messages of role `tool` contain their results, in the same
    order."""
    native: NotRequired[NativeReply]
    """The reply in the form of the service that made it."""
    pictures: NotRequired[Sequence[tuple[int, bytes]]]
    """Pictures in the message, in order: each a PNG or JPEG file, with the number of characters of the text before
    it."""
    name: NotRequired[str]
    """The tool whose result a message of role `tool` contains. If missing, it is taken from the call."""


def split_content(message: Message) -> list[str | bytes]:
    """Return the parts of a message in order: its texts, unless empty, and its pictures."""
    text, parts, done = message["content"], list[str | bytes](), 0
    for place, picture in message.get("pictures", ()):
        parts += text[done:place], picture
        done = place
    return [part for part in (*parts, text[done:]) if part]


History = Literal["template", "kept"]
"""How past turns appear in a conversation: as the chat template renders them (`template`), or unchanged (`kept`)."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The name of a set of weights: the base model's, or an adapter's after a number of optimizer steps."""

    name: str = "base"
    version: int = 0
    """The policy version: the number of optimizer steps that led to the weights."""

    def __str__(self) -> str:
        """Return `base`, or `learner-v12`: the adapter's name on a server."""
        return self.name if self == BASE else f"{self.name}-v{self.version}"


BASE = Policy()
"""The model without an adapter."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """The sampling settings of completions. There is no top-p or top-k, because the learner's probabilities would then
    differ from the engine's."""

    temperature: float = 1.0
    """The sampling temperature. 0 is greedy."""
    max_tokens: int = 16
    """The maximum number of tokens in a completion. The model's context may allow fewer."""


@dataclass(slots=True)
class TokenRequest:
    """A request for one completion."""

    prompt: tuple[int, ...]
    rng: random.Random
    """The only source of randomness of the completion, so that other requests in a batch do not affect the completion.
    An engine in this process draws one number per token. A server gets a seed drawn from it."""
    policy: Policy | None = None
    """The policy that answers, or None for the engine's current policy."""
    conversation: str | None = None
    """The name of the conversation that the request continues, such as the match and the seat, or None for a separate
    request. It does not affect the completion. An engine over several servers uses it to send a conversation to the
    server that has cached its beginning."""
    watch: Callable[[int], bool] | None = None
    """Called with each sampled token, in any thread. If it returns True for a token, the completion ends with that
    token, with the finish reason `stop`."""


@dataclass(slots=True)
class Completion:
    """A sampled completion."""

    ids: tuple[int, ...]
    """The sampled token ids, including the end of turn."""
    logprobs: tuple[float, ...]
    """The log-probability of each id at the sampling temperature, or at temperature 1 if sampling is greedy, in
    nats."""
    finish_reason: FinishReason
    policy: Policy
    """The policy that sampled the completion."""


@dataclass(slots=True)
class TurnTokens:
    """The tokens of one decision of a language model."""

    prompt: tuple[int, ...]
    """The ids that the model read."""
    completion: Completion
    """The completion that the model sampled."""
    legal: tuple[Tokens, ...] = ()
    """The ids that would have continued a legal reply at each sampled id (`distribution.find_continuations`). Empty if
    the player does not note them."""
    taught: tuple[tuple[float, ...], ...] = ()
    """A teacher's probabilities of the ids in `legal` (`distribution.split_probabilities`). Empty without a teacher."""
    agrees: bool | None = None
    """Whether the reply is among the teacher's likeliest moves. None without a teacher, or if it recommends
    nothing."""
