"""The data that players and engines exchange: messages, token requests, completions, and the tokens of a turn."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NotRequired, TypedDict

from gymposium.tasks.tools import Call

FinishReason = Literal["stop", "length"]
Tokens = tuple[int, ...]
"""A sequence of token ids."""


class Message(TypedDict):
    """One message of a chat."""

    role: str
    """`system`, `user`, `assistant`, or `tool` for the result of a call."""
    content: str
    """The text. Of a reply with calls, the text before them."""
    tool_calls: NotRequired[Sequence[Call]]
    """The calls of a reply, in order. The messages of role `tool` behind it hold their results, in the same order."""
    name: NotRequired[str]
    """The name of the tool whose result a message of role `tool` is. If it is missing, the call says it."""


History = Literal["template", "kept"]
"""What becomes of past turns in a conversation: `template`, what the chat template makes of them; `kept`, nothing."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The name of a set of weights: the base model, or an adapter on it at a number of optimizer steps."""

    name: str = "base"
    version: int = 0
    """The policy version: the number of optimizer steps that made the weights."""

    def __str__(self) -> str:
        """`base`, or `learner-v12`: the name under which a server holds the adapter."""
        return self.name if self == BASE else f"{self.name}-v{self.version}"


BASE = Policy()
"""The model without an adapter."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How completions are sampled. There is no top-p or top-k, because the learner's probabilities would then differ
    from the engine's."""

    temperature: float = 1.0
    """The sampling temperature; 0 is greedy."""
    max_tokens: int = 16
    """The largest number of tokens in a completion; the model's context may leave room for fewer."""


@dataclass(slots=True)
class TokenRequest:
    """A request for one completion."""

    prompt: tuple[int, ...]
    rng: random.Random
    """The only source of randomness of the completion, so that the other requests of a batch do not change it. An
    engine in this process draws once for each token; a server gets a seed from it."""
    policy: Policy | None = None
    """The policy that answers; None for the engine's current policy."""
    conversation: str | None = None
    """The name of the conversation that the request continues, such as the match and the seat. It does not change the
    completion: an engine over several servers sends the requests of one conversation to the server that has cached its
    beginning. None for a request that is alone."""
    watch: Callable[[int], bool] | None = None
    """Function that is called with each sampled token, in any thread. The completion ends with a token for which it
    returns True, with the finish reason `stop`."""


@dataclass(slots=True)
class Completion:
    """A sampled completion."""

    ids: tuple[int, ...]
    """The sampled token ids, end of turn included."""
    logprobs: tuple[float, ...]
    """The log-probability of each id at the sampling temperature, or at temperature 1 if sampling is greedy, in
    nats."""
    finish_reason: FinishReason
    policy: Policy
    """The policy that sampled it."""


@dataclass(slots=True)
class TurnTokens:
    """The tokens of one decision of a language model."""

    prompt: tuple[int, ...]
    """The ids that the model read."""
    completion: Completion
    """The completion that it sampled."""
    legal: tuple[Tokens, ...] = ()
    """For each sampled id the ids that would have continued a legal reply there (`distribution.continuations`); empty
    if the player does not note them."""
