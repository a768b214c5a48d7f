"""Protocols of engines: token engines, which host LoRA adapters by name, and chat engines.

Only token engines can be used for training: they report their sampled tokens and the tokens' log-probabilities. A chat
engine returns only text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeVar, runtime_checkable

from gymposium.tasks.tools import Call, Tool
from gymposium_agents.chat.tokens import (
    Completion,
    FinishReason,
    Message,
    NativeReply,
    Policy,
    Sampling,
    TokenRequest,
    Tokens,
)
from gymposium_agents.modeling.sources import NO_TRUST, Trust

T = TypeVar("T")


class TokenEngine(Protocol):
    """An engine that turns prompts of tokens into completions of tokens."""

    @property
    def policy(self) -> Policy:
        """The current policy, which answers requests without a policy."""

    @property
    def context(self) -> int:
        """The maximum number of tokens of a prompt and its completion together. A prompt must leave space for at least
        one token."""

    def generate(self, requests: Sequence[TokenRequest], sampling: Sampling) -> list[Completion]:
        """Return one completion per request, in order. A completion that reaches the end of the context has the finish
        reason `length`.

        Raises `GymposiumError` with the fix if a policy is unknown or the engine is gone."""

    def score(
        self, pairs: Sequence[tuple[Tokens, Tokens]], *, temperature: float = 1.0, policy: Policy | None = None
    ) -> list[tuple[float, ...]]:
        """Return the log-probabilities of given completions at `temperature`, which must be above 0. Each (prompt,
        completion) pair gets one number per completion token."""


@runtime_checkable
class ConcurrentTokenEngine(TokenEngine, Protocol):
    """A token engine that works on many requests concurrently and answers each as soon as it is ready."""

    def submit(self, request: TokenRequest, sampling: Sampling) -> Future[Completion]:
        """Start one completion. The future raises the errors of `generate`."""


@runtime_checkable
class AdapterHost(Protocol):
    """An engine that holds LoRA adapters under versioned names, in addition to the base model."""

    def load(self, directory: Path, policy: Policy) -> None:
        """Load the adapter in `directory` (PEFT's layout, with its files at the root) as `policy`, in addition to the
        other adapters. The adapter answers requests that name `policy`. Returns when the adapter is ready.

        Raises `GymposiumError` with the fix if it does not fit: its rank is too high, or it has another base."""

    def publish(self, directory: Path, policy: Policy) -> None:
        """Load an adapter like `load`, and make it the current policy."""

    def retire(self, policy: Policy) -> None:
        """Unload an adapter. Raises `GymposiumError` if it is the current policy or not loaded."""

    @property
    def adapters(self) -> tuple[Policy, ...]:
        """The loaded adapters, oldest first, without the base model."""


@runtime_checkable
class WeightsHost(TokenEngine, Protocol):
    """An engine whose model's weights can be replaced."""

    def replace_weights(self, directory: Path, policy: Policy) -> None:
        """Replace all weights with the safetensors in `directory`, and make them the current policy. Returns when they
        are loaded. The directory must stay until the next version replaces this one.

        Each reply is sampled by one version, which it reports. Requests that name an earlier version get replies from
        this version. Raises `GymposiumError` with the fix if the weights do not fit. The engine then keeps the old
        ones."""


class HostingEngine(TokenEngine, AdapterHost, Protocol):
    """A token engine that answers for the base model and for several adapters. Engine factories return one."""

    def close(self) -> None:
        """Close the engine's connections, servers and processes. The engine must not be used afterwards.

        A training run closes its engine at the end. Players share engines and do not close them, so an engine that
        holds more than memory must also release it when it is garbage-collected (`weakref.finalize`)."""


class SharedModel(Protocol):
    """A model in this process that an engine may share with its learner."""

    def engine(self, policy: Policy | None = None) -> HostingEngine:
        """Return an engine that samples from the model. `policy` names the weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineStart:
    """The model for a new engine, with its loading options. The engine's factory is called with this object."""

    model: str
    """A directory or a hub name."""
    stops: frozenset[int]
    """The tokens that end a reply."""
    trust: Trust = NO_TRUST
    """Whether the model's files may contain Python code and pickles."""
    load: Literal["4bit"] | None = None
    """`4bit` to quantize the weights while reading them."""
    dtype: str | None = None
    """The weights' number type for computation, such as `bfloat16`, or None for the engine's default."""
    lora_rank: int | None = None
    """The highest rank of the adapters to load, 0 for no adapters, or None if unknown, as for a player."""
    versions: int | None = None
    """The maximum number of adapters in one batch, or None if unknown, as for a player."""
    learner: SharedModel | None = None
    """The model in this process that an engine shares. None for a player, and for engines with a model of their own."""

    @property
    def is_for_run(self) -> bool:
        """True if a training run makes the engine, False for a player."""
        return self.versions is not None


@runtime_checkable
class DigestReporter(Protocol):
    """An engine that can report the digests of its loaded adapters."""

    def digest(self, policy: Policy) -> str | None:
        """Return the digest of the tensors loaded as `policy`, as held by the engine
        (`gymposium_agents.engines.vllm.serving.compute_digest`). Returns None if there is no adapter or a server does
        not report digests."""


@runtime_checkable
class MultiServerEngine(Protocol):
    """An engine over several servers that can be asked separately."""

    def each_server(self, ask: Callable[[TokenEngine], T]) -> dict[str, T]:
        """Call `ask` concurrently with an engine over each single server, in several threads. Returns the results by
        server name. Unavailable servers are left out, but the results contain at least one server."""


@dataclass(slots=True)
class ChatCompletion:
    """The answer of a chat engine."""

    text: str
    finish_reason: FinishReason
    prompt_tokens: int | None
    """Number of prompt tokens counted by the service, or None if not reported."""
    completion_tokens: int | None
    """Number of completion tokens counted by the service, or None if not reported."""
    cost: float | None = None
    """Cost in the currency of the engine's prices, or None without prices."""
    calls: tuple[Call, ...] = ()
    """The tool calls, in order. A reply with a malformed call has none, and the text shows the call."""
    native: NativeReply | None = None
    """The reply in the service's own form, if it has calls."""


class ChatEngine(Protocol):
    """An engine that turns messages into text and calls, for evaluation and opponents."""

    def submit(
        self, messages: Sequence[Message], sampling: Sampling, seed: int, tools: Sequence[Tool] = ()
    ) -> Future[ChatCompletion]:
        """Start one completion. `tools` are those that the model may call. The future raises `GymposiumError` with the
        fix."""
