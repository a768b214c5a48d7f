"""Token engine that runs transformers in this process, on a CPU or a GPU. It is the reference for all other engines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad as padded

from gymposium.errors import GymposiumError
from gymposium_agents.chat.tokens import Completion, Policy, Sampling, TokenRequest
from gymposium_agents.engines.adapters import Adapters
from gymposium_agents.engines.ending import EngineCalls
from gymposium_agents.engines.prefixes import PrefixCache
from gymposium_agents.modeling.caches import CACHE_SHARE, compute_bytes_per_token, get_device_memory
from gymposium_agents.modeling.forward import (
    Fill,
    PrefilledBatch,
    Tokens,
    compute_completion_logits,
    extend_batch,
    split_into_chunks,
)
from gymposium_agents.modeling.linear import speed_up_linear_layers

SCORED_TOKENS = 65_536
"""Maximum number of tokens in a pass that scores completions."""
LOGIT_BUDGET = 2**26
"""Maximum number of logits computed together. A vocabulary can have 150,000 entries."""
GROWTH = 256
"""Maximum number of tokens that a batch preallocates memory for."""
PART = 256
"""Number of vocabulary tokens whose probabilities are summed together before one of them is sampled."""
PREFIX_TOKENS = 8_192
"""Maximum number of shared prefix tokens with cached keys and values."""


class TransformersEngine:
    """A token engine that samples from a transformers model and hosts adapters (`AdapterHost`).

    Requests with the same tokens so far share one forward pass: equal prompts are prefilled once, and equal beginnings
    of completions are continued once. A prefix shared by many prompts is prefilled once per set of weights
    (`prefixes`).

    The keys and values of a batch use limited memory. This memory grows with the replies. At the limit, some replies
    are set aside. They continue when the rest are done.

    Equal requests in the same order give bitwise equal completions, regardless of earlier requests. On a CPU, this
    requires the same number of threads. On a GPU, it requires deterministic kernels and the same memory. In another
    batch, a log-probability may differ by rounding (1e-6 in float32), and so may a token drawn that close to another.

    A learner may share the model, because each call leaves it unchanged. `policy` names the model's initial weights:
    those of its active adapter, or its own if it has no adapter.
    """

    def __init__(
        self,
        model: Any,
        *,
        stops: frozenset[int],
        pad: int,
        policy: Policy | None = None,
        prefix_tokens: int = PREFIX_TOKENS,
        cache_bytes: int | None = None,
    ) -> None:
        """`cache_bytes` limits the memory for the keys and values of a batch. Default: `CACHE_SHARE` of the device's
        memory."""
        self.stops, self.pad = stops, pad
        self._adapters = Adapters(model, policy)
        self._policy = self._adapters.own
        self._prefixes = PrefixCache(prefix_tokens)
        if cache_bytes is None:
            cache_bytes = int(CACHE_SHARE * get_device_memory(model.device))
        self._cached_tokens = cache_bytes // compute_bytes_per_token(model.config, model.dtype)
        self.context = int(model.config.get_text_config(decoder=True).max_position_embeddings)
        """The maximum number of tokens of a prompt and its completion together."""
        # in the `streaming` schedule, two players of one model may ask concurrently, from two threads
        self._calls = EngineCalls()

    @property
    def model(self) -> Any:
        """The transformers model, or a PEFT model while there is an adapter."""
        return self._adapters.model

    @property
    def policy(self) -> Policy:
        """The current policy, which answers requests without a policy."""
        return self._policy

    @property
    def adapters(self) -> tuple[Policy, ...]:
        """The loaded adapters, oldest first, including the model's initial adapter."""
        return self._adapters.held

    def load(self, directory: Path, policy: Policy) -> None:
        """Load the adapter in `directory` as `policy`, in addition to the other adapters. Raises `GymposiumError` if it
        does not fit."""
        with self._calls.lock:
            self._adapters.load(directory, policy)

    def publish(self, directory: Path, policy: Policy) -> None:
        """Load the adapter in `directory` as `policy` and make it the current policy. Raises `GymposiumError` if it
        does not fit."""
        with self._calls.lock:
            self._adapters.load(directory, policy)
            self._policy = policy

    def retire(self, policy: Policy) -> None:
        """Unload a published adapter. Raises `GymposiumError` if it is the current policy or not loaded."""
        if policy == self._policy:
            raise GymposiumError(f"{str(policy)!r} is the current policy. Publish another one before retiring it.")
        with self._calls.lock:
            self._adapters.unload(policy)
            self._prefixes.drop(policy)

    def digest(self, policy: Policy) -> str | None:
        """Return the digest of the adapter that answers as `policy`, or None if that policy has no adapter."""
        with self._calls.lock:
            return self._adapters.digest(policy)

    def weights_changed(self, policy: Policy) -> None:
        """Rename the model's initial weights to `policy`, and make it the current policy. Call this after a learner
        that shares the model changes the weights."""
        with self._calls.lock:
            base_changed = self._adapters.own not in self._adapters.held
            self._prefixes.drop(None if base_changed else self._adapters.own)  # all adapters depend on the base
            self._adapters.rename(policy)
            self._policy = policy

    def close(self) -> None:
        """Do nothing: the engine only holds memory."""

    def generate(self, requests: Sequence[TokenRequest], sampling: Sampling) -> list[Completion]:
        """Return one completion per request, in order."""
        for request in requests:
            if len(request.prompt) >= self.context:
                raise GymposiumError(
                    f"A prompt of {len(request.prompt)} tokens leaves no space for a reply in a context of "
                    f"{self.context}. Use a shorter context (last-K or state), or a model with a longer one."
                )
        by_policy: dict[Policy, list[_Reply]] = {}
        replies = [self._start_reply(request, sampling) for request in requests]
        for reply in replies:
            by_policy.setdefault(reply.policy, []).append(reply)
        for policy, mine in by_policy.items():
            with self._activate(policy) as (model, fill):
                waiting = sorted(mine, key=lambda reply: reply.request.prompt)
                while waiting:
                    batch, waiting = self._split_first_batch(waiting)
                    waiting = self._sample(model, fill, batch, sampling) + waiting
        return [reply.completion() for reply in replies]

    def score(
        self, pairs: Sequence[tuple[Tokens, Tokens]], *, temperature: float = 1.0, policy: Policy | None = None
    ) -> list[tuple[float, ...]]:
        """Return the log-probabilities of given completions: for each pair, one number per completion token."""
        if temperature <= 0.0:
            raise GymposiumError(
                f"temperature={temperature} is not supported: scores need a temperature above 0. Raise it."
            )
        unique = list(dict.fromkeys(pairs))
        by_pair: dict[tuple[Tokens, Tokens], tuple[float, ...]] = {}
        with self._activate(self._policy if policy is None else policy) as (model, fill):
            for chunk in split_into_chunks(unique, SCORED_TOKENS, max(1, LOGIT_BUDGET // _get_vocabulary_size(model))):
                self._calls.go_on()
                logits, tokens, _ = compute_completion_logits(model, [unique[i] for i in chunk], self.pad, fill)
                scores = torch.log_softmax(logits / temperature, dim=-1).gather(-1, tokens[..., None])[..., 0]
                for i, row in zip(chunk, scores.tolist(), strict=True):
                    by_pair[unique[i]] = tuple(row[: len(unique[i][1])])
        return [by_pair[pair] for pair in pairs]

    @contextmanager
    def _activate(self, policy: Policy) -> Iterator[tuple[Any, Fill]]:
        """Yield the transformers model, which answers as `policy`, and the function that prefills its prompts."""
        self._adapters.check(policy)
        with self._calls.lock, self._adapters.answering(policy), torch.inference_mode():
            speed_up_linear_layers(self.model)  # an adapter loaded since then also has linear layers
            yield unwrap_peft(self.model), partial(self._prefixes.fill, policy)

    def _start_reply(self, request: TokenRequest, sampling: Sampling) -> _Reply:
        """Return the empty reply to a request."""
        max_tokens = min(sampling.max_tokens, self.context - len(request.prompt))
        return _Reply(request, self._policy if request.policy is None else request.policy, max_tokens)

    def _sample(self, model: Any, fill: Fill, replies: list[_Reply], sampling: Sampling) -> list[_Reply]:
        """Sample the rest of these replies. Returns those that were set aside because all keys and values together
        would exceed `cache_bytes`. They continue later from the tokens that they already have."""
        most = max(reply.max_tokens - len(reply.ids) for reply in replies)
        batch, place = fill(model, list({reply.tokens: None for reply in replies}), self.pad, min(most, GROWTH))
        node = {id(reply): place[reply.tokens] for reply in replies}  # each reply's row in the batch
        live, aside = replies, list[_Reply]()
        while True:
            self._calls.go_on()
            rows = [node[id(reply)] for reply in live]
            tokens, scores = sample_tokens(batch, rows, [reply.request for reply in live], sampling)
            for reply, token, logprob in zip(live, tokens, scores, strict=True):
                reply.add(token, logprob, self.stops)
            live = [reply for reply in live if not reply.stopped and len(reply.ids) < reply.max_tokens]
            if not live:
                return aside
            nodes = sorted({(node[id(reply)], reply.ids[-1]) for reply in live})
            layers: list[Any] = batch.cache.layers
            places = layers[0].places(1)
            while len(live) > 1 and len(nodes) * places > self._cached_tokens:
                half = len(live) // 2
                live, aside = live[:half], live[half:] + aside
                nodes = sorted({(node[id(reply)], reply.ids[-1]) for reply in live})
            index = {key: n for n, key in enumerate(nodes)}
            for reply in live:
                node[id(reply)] = index[node[id(reply)], reply.ids[-1]]
            new = torch.tensor([[token] for _, token in nodes], device=batch.logits.device)
            extend_batch(model, batch, [parent for parent, _ in nodes], new, torch.ones_like(new))

    def _split_first_batch(self, replies: list[_Reply]) -> tuple[list[_Reply], list[_Reply]]:
        """Return the replies to sample together, and the rest. The replies to sample fit into the budgets, which count
        padded prompts, space for the next tokens, and one token's logits per reply. At least one reply is taken."""
        most = max(1, LOGIT_BUDGET // _get_vocabulary_size(self.model))
        longest = 0
        for count, reply in enumerate(replies):
            longest = max(longest, len(reply.tokens) + min(reply.max_tokens - len(reply.ids), GROWTH))
            if count and (count >= most or (count + 1) * longest > self._cached_tokens):
                return replies[:count], replies[count:]
        return replies, []


@dataclass(slots=True)
class _Reply:
    """A completion being sampled."""

    request: TokenRequest
    policy: Policy
    """The policy that answers."""
    max_tokens: int
    """Maximum number of tokens in the reply."""
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    stopped: bool = False

    @property
    def tokens(self) -> Tokens:
        """The prompt and the tokens so far."""
        return (*self.request.prompt, *self.ids) if self.ids else self.request.prompt

    def add(self, token: int, logprob: float, stops: frozenset[int]) -> None:
        """Append a sampled token."""
        self.ids.append(token)
        self.logprobs.append(logprob)
        watch = self.request.watch
        self.stopped = token in stops or (watch is not None and watch(token))

    def completion(self) -> Completion:
        """Return the sampled completion."""
        return Completion(tuple(self.ids), tuple(self.logprobs), "stop" if self.stopped else "length", self.policy)


def unwrap_peft(model: Any) -> Any:
    """Return the transformers model inside a PEFT model, including its LoRA layers. Other models are returned
    unchanged."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def sample_tokens(
    batch: PrefilledBatch, nodes: list[int], requests: list[TokenRequest], sampling: Sampling
) -> tuple[list[int], list[float]]:
    """Sample the next token of each request by inverting the cumulative distribution, and return the tokens and their
    log-probabilities. Temperature 0 takes the most likely token.

    Raises `GymposiumError` if a probability is not a number."""
    greedy = sampling.temperature == 0.0
    scores = torch.log_softmax(batch.logits if greedy else batch.logits / sampling.temperature, dim=-1)
    if not scores.amax(dim=-1).isfinite().all():  # NaN if any score is
        raise GymposiumError(
            f"The model's probabilities at temperature={sampling.temperature:g} are not numbers. Its weights are "
            "damaged, or the temperature is too low. Use an earlier checkpoint, or temperature=0."
        )
    where = torch.tensor(nodes, device=scores.device)
    if greedy:
        chosen = scores.argmax(dim=-1)[where]
    else:
        draws = torch.tensor([r.rng.random() for r in requests], dtype=torch.float64, device=scores.device)
        chosen = _invert_distributions(scores.exp(), where, draws)
    return chosen.tolist(), scores[where, chosen].tolist()


def _invert_distributions(probabilities: Tensor, where: Tensor, draws: Tensor) -> Tensor:
    """Return the tokens [N] where the cumulative distributions of rows `where` [N] of `probabilities` [B, V] exceed
    `draws` [N] in [0, 1). Each token has a positive probability.

    The distribution is summed in parts of the vocabulary. Only the part that a draw falls into is summed token by
    token."""
    parts = padded(probabilities, (0, -probabilities.shape[1] % PART)).view(len(probabilities), -1, PART)
    sums = parts.sum(dim=-1, dtype=torch.float64)[where]
    ends = sums.cumsum(dim=-1)
    aims = _clamp_below(draws * ends[:, -1], ends[:, -1])
    part = torch.searchsorted(ends, aims[:, None], right=True)
    inside = parts[where, part[:, 0]].cumsum(dim=-1, dtype=torch.float64)
    rest = _clamp_below(aims - (ends - sums).gather(1, part)[:, 0], inside[:, -1])
    return part[:, 0] * PART + torch.searchsorted(inside, rest[:, None], right=True)[:, 0]


def _clamp_below(numbers: Tensor, limits: Tensor) -> Tensor:
    """Clamp numbers below their limits, because rounding may have reached the limits."""
    return torch.minimum(numbers, torch.nextafter(limits, torch.zeros_like(limits)))


def _get_vocabulary_size(model: Any) -> int:
    return int(model.config.get_text_config(decoder=True).vocab_size)
