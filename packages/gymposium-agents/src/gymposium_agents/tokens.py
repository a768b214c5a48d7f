"""The data that players and engines exchange: messages, requests for tokens, completions, and the tokens of a turn."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

FinishReason = Literal["stop", "length"]
Message = Mapping[str, str]
"""One message of a chat: `role` (system, user or assistant) and `content`."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A set of weights by name and count: the base model, or an adapter on it after so many optimizer steps."""

    name: str = "base"
    version: int = 0
    """The policy version: optimizer steps behind the weights."""

    def __str__(self) -> str:
        """`base`, or `learner-v12`: the name under which a server holds the adapter."""
        return self.name if self == BASE else f"{self.name}-v{self.version}"


BASE = Policy()
"""The model without an adapter."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How completions are sampled. Temperature 0 is greedy. There is no top-p or top-k: the learner's
    probabilities would not be the engine's."""

    temperature: float = 1.0
    max_tokens: int = 16
    """At most so many tokens in a completion; fewer where the model's context leaves no more room."""


@dataclass(slots=True)
class TokenRequest:
    """One completion that is wanted. All that is drawn for it comes from `rng` (in process one draw for each
    token, elsewhere a server's seed), so what else is in the batch does not change the outcome."""

    prompt: tuple[int, ...]
    rng: random.Random
    policy: Policy | None = None
    """Who is to answer; the engine's current policy where it is None."""


@dataclass(slots=True)
class Completion:
    """What was sampled: token ids with the end of turn, and the log-probability of each one at the
    sampling temperature (greedy: at temperature 1)."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    finish_reason: FinishReason
    policy: Policy
    """Whose weights sampled it."""


@dataclass(slots=True)
class TurnTokens:
    """The tokens of one decision of a language model: exactly what it read and what it sampled."""

    prompt: tuple[int, ...]
    completion: Completion
