"""Tokens in, tokens out: what an engine is asked, what it answers, and what a turn keeps of both."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

FinishReason = Literal["stop", "length"]


@dataclass(frozen=True, slots=True)
class Sampling:
    """How completions are sampled. Temperature 0 is greedy. There is no top-p or top-k: the learner's
    probabilities would not be the engine's."""

    temperature: float = 1.0
    max_tokens: int = 16


@dataclass(slots=True)
class TokenRequest:
    """One completion that is wanted. `rng` gives one draw for each token that is sampled, so what else
    is in the batch does not change the outcome."""

    prompt: tuple[int, ...]
    rng: random.Random


@dataclass(slots=True)
class Completion:
    """What was sampled: token ids with the end of turn, and the log-probability of each one at the
    sampling temperature (greedy: at temperature 1)."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    finish_reason: FinishReason
    policy_version: int


class TokenEngine(Protocol):
    """Turns token prompts into completions."""

    policy_version: int

    def generate(self, requests: Sequence[TokenRequest], sampling: Sampling) -> list[Completion]:
        """One completion for each request, in order."""
        ...


@dataclass(slots=True)
class TurnTokens:
    """The tokens of one decision of a language model: exactly what it read and what it sampled."""

    prompt: tuple[int, ...]
    completion: Completion
