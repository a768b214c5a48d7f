"""What engines promise: tokens in and tokens out, adapters by name, or messages in and text out.

A token engine can be trained with: it says exactly what it sampled and how likely that was. A chat engine
cannot, by type: it hands back text.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from gymposium_agents.sources import NO_TRUST, Trust
from gymposium_agents.tokens import Completion, FinishReason, Message, Policy, Sampling, TokenRequest

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


class HostingEngine(TokenEngine, AdapterHost, Protocol):
    """A token engine that answers for the base model and for several adapters: what a factory of engines returns."""

    def close(self) -> None:
        """End the connections, servers and processes that the engine holds. It must not be used afterwards.

        A training run closes its engine at its end. Players share engines and do not close them: an engine that holds
        more than memory must also end it when it is garbage-collected (`weakref.finalize`)."""
        ...


class SharedModel(Protocol):
    """A model in this process that an engine may share with its learner."""

    def engine(self, policy: Policy | None = None) -> HostingEngine:
        """An engine that samples from the model; `policy` names the weights."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineStart:
    """The model that an engine is made for, and how it must be loaded. The factory of an engine is called with it."""

    model: str
    """A directory or a hub name."""
    stops: frozenset[int]
    """The tokens that end a reply."""
    trust: Trust = NO_TRUST
    """Whether the model may bring Python code and pickles."""
    load: Literal["4bit"] | None = None
    """`4bit` to quantize the weights as they are read."""
    dtype: str | None = None
    """The number type in which the weights compute, such as `bfloat16`; None for the engine's default."""
    lora_rank: int | None = None
    """The highest rank of the adapters that will be loaded; None if it is not known, as for a player."""
    versions: int | None = None
    """The largest number of adapters that one batch may name; None if it is not known, as for a player."""
    learner: SharedModel | None = None
    """The learner's model in this process; None for a player."""


@runtime_checkable
class TellsDigests(Protocol):
    """Can tell which adapter it loaded."""

    def digest(self, policy: Policy) -> str | None:
        """The digest of the tensors that were loaded as `policy` (`gymposium_agents.engines.vllm.serving.digest`), as
        the engine holds them. None where it cannot tell: there is no adapter, or a server does not say."""
        ...


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
