"""Protocols of engines: token engines, which host LoRA adapters by name, and chat engines.

Only token engines can be trained with: they report the tokens that they sampled and the log-probabilities of those
tokens. A chat engine returns text alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeVar, runtime_checkable

from gymposium_agents.chat.tokens import Completion, FinishReason, Message, Policy, Sampling, TokenRequest, Tokens
from gymposium_agents.modeling.sources import NO_TRUST, Trust

T = TypeVar("T")


class TokenEngine(Protocol):
    """An engine that turns prompts of tokens into completions of tokens."""

    @property
    def policy(self) -> Policy:
        """The current policy, which answers requests that name no policy."""

    @property
    def context(self) -> int:
        """The largest number of tokens of a prompt and its completion together. A prompt that leaves no room for a
        single token must not be sent."""

    def generate(self, requests: Sequence[TokenRequest], sampling: Sampling) -> list[Completion]:
        """Return one completion for each request, in order. A completion that reaches the end of the context has the
        finish reason `length`.

        Raises `GymposiumError` with what to do if a policy is unknown or the engine is gone."""

    def score(
        self, pairs: Sequence[tuple[Tokens, Tokens]], *, temperature: float = 1.0, policy: Policy | None = None
    ) -> list[tuple[float, ...]]:
        """Return the log-probabilities of given completions: for each pair (prompt, completion) one number for each
        token of the completion, at `temperature`, which is greater than 0."""


@runtime_checkable
class ConcurrentTokenEngine(TokenEngine, Protocol):
    """A token engine that works on many requests at once and answers each as soon as it is ready."""

    def submit(self, request: TokenRequest, sampling: Sampling) -> Future[Completion]:
        """Start one completion. The future raises the errors of `generate`."""


@runtime_checkable
class AdapterHost(Protocol):
    """An engine that holds LoRA adapters under versioned names, beside the base model."""

    def load(self, directory: Path, policy: Policy) -> None:
        """Load the adapter in `directory` (PEFT's layout, with its files at the root) as `policy`, beside the other
        adapters. It answers requests that name it. Returns when the adapter is in place.

        Raises `GymposiumError` with what to do if it does not fit: its rank is too high, or its base is another."""

    def publish(self, directory: Path, policy: Policy) -> None:
        """Load an adapter as `load` does, and make it the current policy."""

    def retire(self, policy: Policy) -> None:
        """Unload an adapter. Raises `GymposiumError` if it is the current policy or is not held."""

    @property
    def adapters(self) -> tuple[Policy, ...]:
        """The adapters that are held, oldest first, without the base model."""


class HostingEngine(TokenEngine, AdapterHost, Protocol):
    """A token engine that answers for the base model and for several adapters. Factories of engines return one."""

    def close(self) -> None:
        """End the connections, servers and processes that the engine holds. The engine must not be used afterwards.

        A training run closes its engine at its end. Players share engines and do not close them, so an engine that
        holds more than memory must also release it when it is garbage-collected (`weakref.finalize`)."""


class SharedModel(Protocol):
    """A model in this process that an engine may share with its learner."""

    def engine(self, policy: Policy | None = None) -> HostingEngine:
        """Return an engine that samples from the model; `policy` names the weights."""


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
    """An engine that can report the digests of the adapters that it loaded."""

    def digest(self, policy: Policy) -> str | None:
        """Return the digest of the tensors that were loaded as `policy`, as the engine holds them
        (`gymposium_agents.engines.vllm.serving.digest`). None if there is no adapter or a server does not report
        digests."""


@runtime_checkable
class AsksEachServer(Protocol):
    """An engine over several servers, each of which can be asked alone."""

    def each_server(self, ask: Callable[[TokenEngine], T]) -> dict[str, T]:
        """Call `ask` with an engine over each server alone, at the same time in several threads. Returns the results by
        the servers' names. Servers that are away are left out; there is at least one result."""


@dataclass(slots=True)
class ChatCompletion:
    """The answer of a chat engine."""

    text: str
    finish_reason: FinishReason
    prompt_tokens: int | None
    """Number of tokens of the prompt, as the service counted them; None if it did not report it."""
    completion_tokens: int | None
    """Number of tokens of the completion, as the service counted them; None if it did not report it."""
    cost: float | None = None
    """Cost in the currency of the prices that the engine was given; None without prices."""


class ChatEngine(Protocol):
    """An engine that turns messages into text, for evaluation and opponents."""

    def submit(self, messages: Sequence[Message], sampling: Sampling, seed: int) -> Future[ChatCompletion]:
        """Start one completion. The future raises `GymposiumError` with what to do."""
