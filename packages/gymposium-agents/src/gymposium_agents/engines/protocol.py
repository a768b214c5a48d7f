"""What engines promise: tokens in and tokens out, adapters by name, or messages in and text out.

A token engine can be trained with: it says exactly what it sampled and how likely that was. A chat engine
cannot, by type: it hands back text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from gymposium_agents.tokens import Completion, FinishReason, Policy, Sampling, TokenRequest

Tokens = tuple[int, ...]


class TokenEngine(Protocol):
    """Turns token prompts into completions."""

    @property
    def policy(self) -> Policy:
        """Who answers requests that name nobody."""
        ...

    @property
    def context(self) -> int:
        """So many tokens a prompt and its completion may have together. A prompt that leaves no room for one more
        must not be sent."""
        ...

    def generate(self, requests: Sequence[TokenRequest], sampling: Sampling) -> list[Completion]:
        """One completion for each request, in order. A reply that meets the end of the context is `length`.

        Raises `GymposiumError` with what to do where a policy is unknown or the engine is gone."""
        ...

    def score(
        self, pairs: Sequence[tuple[Tokens, Tokens]], *, temperature: float = 1.0, policy: Policy | None = None
    ) -> list[tuple[float, ...]]:
        """Log-probabilities of given completions: for each (prompt, completion) one number a completion token, at
        this temperature (greater than 0)."""
        ...


@runtime_checkable
class ConcurrentTokenEngine(TokenEngine, Protocol):
    """A token engine that works on any number of requests at once, each answered as soon as it is ready."""

    def submit(self, request: TokenRequest, sampling: Sampling) -> Future[Completion]:
        """Begin one completion. The future raises what `generate` would."""
        ...


@runtime_checkable
class AdapterHost(Protocol):
    """Holds LoRA adapters under versioned names, beside the base model."""

    def load(self, directory: Path, policy: Policy) -> None:
        """Load the adapter in `directory` (PEFT's layout, files at its root) as `policy`, beside the others: it answers
        requests that name it. Returns when it is in place.

        Raises `GymposiumError` with what to do where it does not fit: a rank that is too high, another base."""
        ...

    def publish(self, directory: Path, policy: Policy) -> None:
        """As `load`, and let it answer requests that name nobody."""
        ...

    def retire(self, policy: Policy) -> None:
        """Let go of an adapter. Raises `GymposiumError` where it is the current policy or is not there."""
        ...

    @property
    def adapters(self) -> tuple[Policy, ...]:
        """What is held now, oldest first; the base is not among them."""
        ...


@runtime_checkable
class TellsDigests(Protocol):
    """Can tell which adapter it loaded."""

    def digest(self, policy: Policy) -> str | None:
        """The digest of the tensors that were loaded as `policy` (`gymposium_agents.engines.vllm.serving.digest`), as
        the engine holds them. None where it cannot tell: there is no adapter, or a server does not say."""
        ...


Message = Mapping[str, str]
"""One message of a chat: `role` (system, user or assistant) and `content`."""


@dataclass(slots=True)
class ChatCompletion:
    """What a chat engine answered."""

    text: str
    finish_reason: FinishReason
    prompt_tokens: int | None
    """As the service counted them; None where it does not say."""
    completion_tokens: int | None
    cost: float | None = None
    """In the currency of the prices that the engine was given; None without prices."""


class ChatEngine(Protocol):
    """Messages in, text out: for evaluation and opponents."""

    def submit(self, messages: Sequence[Message], sampling: Sampling, seed: int) -> Future[ChatCompletion]:
        """Begin one completion. The future raises `GymposiumError` with what to do."""
        ...
