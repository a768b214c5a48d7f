"""Token requests to vLLM servers: completions, scores and digests."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gymposium.errors import GymposiumError
from gymposium.util.background import BackgroundLoop
from gymposium.util.visible import quantity
from gymposium_agents.chat.tokens import BASE, Completion, Policy, Sampling, TokenRequest, Tokens
from gymposium_agents.engines.futures import wait_for_results
from gymposium_agents.engines.vllm.fleet import Fleet
from gymposium_agents.engines.vllm.member import Member
from gymposium_agents.engines.vllm.wire import (
    StreamedCompletion,
    make_completion_body,
    make_score_body,
    parse_completion,
    parse_scores,
)


@dataclass(slots=True)
class Policies:
    """The policies that requests may name."""

    current: Policy = BASE
    """The policy of requests without a policy."""
    adapters: dict[Policy, Path] = field(default_factory=dict)
    """The adapters, oldest first, with their directories."""
    weights: Policy | None = None
    """The version of the weights that replaced the model's own, if any."""

    def named(self, policy: Policy | None) -> Policy:
        """Return the policy that should answer: the current one for None. Requests for earlier versions of replaced
        weights get the current version. Raises `GymposiumError` if the policy is not loaded."""
        if policy is None:
            return self.current
        if self.weights is not None:
            if policy.name == self.weights.name:
                return self.weights
            if policy == BASE:
                raise GymposiumError(
                    f"The base model is not loaded: {self.weights} has replaced its weights. Request {self.weights}."
                )
        if policy != BASE and policy not in self.adapters:
            held = ", ".join(map(str, (BASE, *self.adapters)))
            raise GymposiumError(f"Unknown policy {policy}. Publish it first. The engine holds: {held}.")
        return policy


class ServerRequests:
    """A token engine over the servers of a fleet, or over a single one of them."""

    def __init__(
        self,
        loop: BackgroundLoop,
        fleet: Fleet,
        policies: Policies,
        stops: frozenset[int],
        only: Member | None = None,
        *,
        seeded: bool,
    ) -> None:
        """`stops` are the tokens that end a reply. `seeded` is as in `VllmEngine`. With `only`, just that server is
        asked. In a fleet of several servers, requests raise `ServerUnavailable` while it is unavailable."""
        self.stops = stops
        self._loop, self._fleet, self._policies, self._only, self._seeded = loop, fleet, policies, only, seeded

    @property
    def policy(self) -> Policy:
        return self._policies.current

    @property
    def context(self) -> int:
        """The maximum number of tokens of a prompt and its completion together. It is one less than the servers' lowest
        limit, because scoring needs one more token."""
        return min(member.connection.longest for member in self._fleet.members) - 1

    def submit(self, request: TokenRequest, sampling: Sampling) -> Future[Completion]:
        try:
            asking = self._build_completion(request, sampling)
        except GymposiumError as error:
            failed: Future[Completion] = Future()
            failed.set_exception(error)
            return failed
        return self._loop.submit(asking)

    def _build_completion(self, request: TokenRequest, sampling: Sampling) -> Coroutine[Any, Any, Completion]:
        """Build the request immediately, including its policy, because the caller may publish before the answer
        arrives."""
        policy = self._policies.named(request.policy)
        space = self.context - len(request.prompt)
        if not request.prompt or space < 1:
            raise GymposiumError(
                f"A prompt of {quantity(len(request.prompt), 'token')} leaves no space for a reply in a context of "
                f"{self.context}. Use a shorter context (last-K or state)."
            )
        if sampling.temperature not in (0.0, 1.0):
            self._check_processed(sampling.temperature)
        # a watched reply continues after the server is lost only if the same tokens are sampled again
        seeded = self._seeded or request.watch is not None
        max_tokens = min(sampling.max_tokens, space)
        body = make_completion_body(request, sampling, max_tokens=max_tokens, stops=self.stops, seeded=seeded)
        order = self._order_servers(request.conversation, request.prompt)
        if request.watch is not None:
            return self._fleet.follow(body, policy, order, StreamedCompletion(self.stops, request.watch))
        return self._fleet.ask(
            body, policy, order, lambda answer, answering: parse_completion(answer, answering, self.stops)
        )

    def _check_processed(self, temperature: float) -> None:
        """Raise `GymposiumError` if a server's log-probabilities at `temperature` do not match its sampling."""
        for connection in (member.connection for member in self._fleet.members):
            if not connection.processed:
                raise GymposiumError(
                    f"The vLLM server at {connection.url} reports log-probabilities at temperature 1 for every "
                    f"temperature, so samples at {temperature:g} cannot be used for training. Start it with "
                    f"--logprobs-mode processed_logprobs, like gymposium engine start, or play at temperature 0 or 1."
                )

    def _order_servers(self, conversation: str | None, prompt: Tokens) -> Sequence[Member]:
        """Return the servers that may answer, in the order to ask them."""
        return self._fleet.order(conversation, prompt) if self._only is None else [self._only]

    def generate(self, requests: Sequence[TokenRequest], sampling: Sampling) -> list[Completion]:
        return wait_for_results([self.submit(request, sampling) for request in requests])

    def score(
        self, pairs: Sequence[tuple[Tokens, Tokens]], *, temperature: float = 1.0, policy: Policy | None = None
    ) -> list[tuple[float, ...]]:
        """Return the log-probabilities of given completions, at temperature 1 only, because a server cannot score
        tokens that it did not sample at other temperatures."""
        if temperature != 1.0:
            raise GymposiumError(
                f"A vLLM server scores given tokens only at temperature 1, not {temperature:g}. Score at 1, or with "
                f"the in-process engine (omit engine= from the player's name)."
            )
        asked = self._policies.named(policy)
        return wait_for_results(
            [self._loop.submit(self._score(prompt, completion, asked)) for prompt, completion in pairs]
        )

    async def _score(self, prompt: Tokens, completion: Tokens, policy: Policy) -> tuple[float, ...]:
        if not prompt or len(prompt) + len(completion) > self.context:
            raise GymposiumError(
                f"A prompt of {len(prompt)} tokens and a completion of {len(completion)} cannot be scored: the prompt "
                f"must not be empty, and both together may have at most {self.context} tokens."
            )
        if not completion:
            return ()
        body, order = make_score_body(prompt, completion), self._order_servers(None, prompt)
        return await self._fleet.ask(body, policy, order, lambda answer, _: parse_scores(answer, prompt, completion))

    def digest(self, policy: Policy) -> str | None:
        """Return the digest of the tensors loaded as `policy` by the servers' workers, or all digests if workers
        differ. Returns None if no server reports digests, because gymposium started none of them."""
        return ", ".join(self._loop.run(self._fleet.digests(self._policies.named(policy), self._only))) or None
