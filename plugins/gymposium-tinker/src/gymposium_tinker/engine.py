"""The engine that samples tokens, with their log-probabilities, on the Tinker service."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import NoReturn

from tinker import APIFuture, SamplingClient
from tinker.types import ModelInput, SampleResponse, SamplingParams

from gymposium.errors import BadOption, GymposiumError
from gymposium.util.settings import NoSettings
from gymposium.util.visible import quantity
from gymposium_agents.chat.tokens import Completion, Policy, Sampling, TokenRequest, Tokens
from gymposium_agents.engines.futures import map_future
from gymposium_agents.engines.protocol import EngineStart
from gymposium_tinker.service import translate_errors


class TinkerEngine:
    """A `ConcurrentTokenEngine` that samples from one snapshot of weights per policy."""

    def __init__(self, context: int, stops: frozenset[int], policy: Policy, client: SamplingClient) -> None:
        """`context` is the maximum number of tokens in prompt and completion together. `stops` are the tokens that end
        a reply. `client` samples from `policy`."""
        self.context = context
        self._stops = sorted(stops)
        self._clients = {policy: client}
        self.policy = policy
        """The current policy."""

    @property
    def policies(self) -> tuple[Policy, ...]:
        """The available policies, oldest first."""
        return (*self._clients,)

    def add(self, policy: Policy, client: SamplingClient) -> None:
        """Add a policy."""
        self._clients[policy] = client

    def retire(self, policy: Policy) -> None:
        """Remove a policy."""
        del self._clients[policy]

    def generate(self, requests: Sequence[TokenRequest], sampling: Sampling) -> list[Completion]:
        return [future.result() for future in [self.submit(request, sampling) for request in requests]]

    def submit(self, request: TokenRequest, sampling: Sampling) -> Future[Completion]:
        policy = request.policy or self.policy
        params = SamplingParams(
            max_tokens=min(sampling.max_tokens, self.context - len(request.prompt)),
            temperature=sampling.temperature,
            seed=request.rng.getrandbits(31),
            stop=self._stops,
        )
        sampled = self._get_client(policy).sample(ModelInput.from_ints([*request.prompt]), 1, params)
        future = sampled.future() if isinstance(sampled, APIFuture) else sampled  # as SDKs before 0.38 return it
        return map_future(future, lambda done: _make_completion(done, request, policy))

    def score(
        self, pairs: Sequence[tuple[Tokens, Tokens]], *, temperature: float = 1.0, policy: Policy | None = None
    ) -> list[tuple[float, ...]]:
        if temperature != 1.0:
            raise BadOption(f"Tinker scores tokens at temperature 1, not {temperature}. Score at 1.")
        client = self._get_client(policy or self.policy)
        asked = [client.compute_logprobs(ModelInput.from_ints([*prompt, *reply])) for prompt, reply in pairs]
        with translate_errors():
            scores = [future.result() for future in asked]
        return [_slice_reply(row, prompt, reply) for row, (prompt, reply) in zip(scores, pairs, strict=True)]

    def _get_client(self, policy: Policy) -> SamplingClient:
        if policy not in self._clients:
            raise GymposiumError(f"Unknown policy {policy}. The engine holds {', '.join(map(str, self._clients))}.")
        return self._clients[policy]


def _make_completion(done: Future[SampleResponse], request: TokenRequest, policy: Policy) -> Completion:
    with translate_errors():
        [sequence] = done.result().sequences
    ids, logprobs, finish = tuple(sequence.tokens), sequence.logprobs, sequence.stop_reason
    if logprobs is None or len(logprobs) != len(ids):
        found = "none" if logprobs is None else len(logprobs)
        raise GymposiumError(
            f"The Tinker service returned {quantity(len(ids), 'token')} with log-probabilities for {found} of them."
        )
    if request.watch is not None and (ended := next((n for n, one in enumerate(ids, 1) if request.watch(one)), None)):
        ids, logprobs, finish = ids[:ended], logprobs[:ended], "stop"
    return Completion(ids, tuple(logprobs), finish, policy)


def _slice_reply(scores: Sequence[float | None], prompt: Tokens, reply: Tokens) -> tuple[float, ...]:
    """Return the log-probabilities of a reply's tokens, given those of prompt and reply. For the first token of the
    prompt, some servers return None and others omit the entry."""
    missing = len(prompt) + len(reply) - len(scores)
    found = scores[len(prompt) - missing :]
    if missing not in (0, 1) or None in found:
        raise GymposiumError(
            f"The Tinker service returned {sum(score is not None for score in scores)} log-probabilities for "
            f"{quantity(len(prompt) + len(reply), 'token')}."
        )
    return tuple(float(score) for score in found if score is not None)


def refuse_engine(start: EngineStart, settings: NoSettings) -> NoReturn:
    """Raise `BadOption`, because only a training run's backend can make the engine `tinker`."""
    raise BadOption(
        "engine=tinker is not available to players, because it samples from a training run's model. Use another engine."
    )
