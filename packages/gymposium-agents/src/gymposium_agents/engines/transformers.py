"""Token engine that runs transformers in this process, on a CPU or a GPU; the reference for all other engines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch

from gymposium.errors import GymposiumError
from gymposium_agents.engines.adapters import Adapters
from gymposium_agents.engines.ending import Calls
from gymposium_agents.engines.prefixes import PrefixCache
from gymposium_agents.forward import Fill, Prefilled, Tokens, chunked, completion_logits, extend
from gymposium_agents.tokens import Completion, Policy, Sampling, TokenRequest

TOKEN_BUDGET = 65_536
"""Maximum number of tokens in a batch: prompts and the replies to be sampled."""
LOGIT_BUDGET = 2**26
"""Maximum number of logits computed at once; a vocabulary can have 150,000 entries."""
PREFIX_TOKENS = 8_192
"""Maximum number of tokens of shared prefixes whose keys and values are cached."""


class TransformersEngine:
    """A token engine that samples from a transformers model and hosts adapters (`AdapterHost`).

    Requests with the same tokens so far share one forward pass: equal prompts are prefilled once, and equal beginnings
    of completions are continued once. A prefix of many prompts is prefilled once for each set of weights (`prefixes`).

    Equal requests in the same order give equal completions to the bit, whatever was asked before: on a CPU with the
    same number of threads, and on a GPU whose kernels are deterministic. In another batch a log-probability may differ
    by rounding (1e-6 in float32), and so may a token that was drawn that close to another.

    A learner may share the model, because each call leaves it unchanged. `policy` names the weights that the model
    comes with: those of its active adapter, or its own if it has no adapter.
    """

    def __init__(
        self,
        model: Any,
        *,
        stops: frozenset[int],
        pad: int,
        policy: Policy | None = None,
        prefix_tokens: int = PREFIX_TOKENS,
    ) -> None:
        self.stops, self.pad = stops, pad
        self._adapters = Adapters(model, policy)
        self._policy = self._adapters.own
        self._prefixes = PrefixCache(prefix_tokens)
        self.context = int(model.config.get_text_config(decoder=True).max_position_embeddings)
        """The largest number of tokens of a prompt and its completion together."""
        self._calls = Calls()  # in the `streaming` schedule two players of one model may ask at once, from two threads

    @property
    def model(self) -> Any:
        """The transformers model, or a PEFT model while there is an adapter."""
        return self._adapters.model

    @property
    def policy(self) -> Policy:
        """The current policy, which answers requests that name no policy."""
        return self._policy

    @property
    def adapters(self) -> tuple[Policy, ...]:
        """The adapters that are held, oldest first, including the one that the model came with."""
        return self._adapters.held

    def load(self, directory: Path, policy: Policy) -> None:
        """Load the adapter in `directory` as `policy`, beside the others. Raises `GymposiumError` if it does not
        fit."""
        with self._calls.lock:
            self._adapters.load(directory, policy)

    def publish(self, directory: Path, policy: Policy) -> None:
        """Load the adapter in `directory` as `policy` and make it the current policy. Raises `GymposiumError` if it
        does not fit."""
        with self._calls.lock:
            self._adapters.load(directory, policy)
            self._policy = policy

    def retire(self, policy: Policy) -> None:
        """Unload a published adapter. Raises `GymposiumError` if it is the current policy or is not held."""
        if policy == self._policy:
            raise GymposiumError(f"{str(policy)!r} is the current policy; publish another before it is retired.")
        with self._calls.lock:
            self._adapters.unload(policy)
            self._prefixes.drop(policy)

    def digest(self, policy: Policy) -> str | None:
        """The digest of the adapter that answers as `policy`; None if that policy has no adapter."""
        with self._calls.lock:
            return self._adapters.digest(policy)

    def weights_changed(self, policy: Policy) -> None:
        """Rename the weights that the model came with, after a learner that shares the model changed them: they are
        `policy` now, and the current policy."""
        with self._calls.lock:
            base_changed = self._adapters.own not in self._adapters.held
            self._prefixes.drop(None if base_changed else self._adapters.own)  # all adapters depend on the base
            self._adapters.rename(policy)
            self._policy = policy

    def close(self) -> None:
        """Do nothing: the engine holds only memory."""

    def generate(self, requests: Sequence[TokenRequest], sampling: Sampling) -> list[Completion]:
        """Return one completion for each request, in order."""
        for request in requests:
            if len(request.prompt) >= self.context:
                raise GymposiumError(
                    f"A prompt of {len(request.prompt)} tokens leaves no room for a reply in a context of "
                    f"{self.context}. Take a shorter context (last-K or state), or a model with a longer one."
                )
        completions: dict[int, Completion] = {}
        by_policy: dict[Policy, list[int]] = {}
        for i, request in enumerate(requests):
            by_policy.setdefault(self._policy if request.policy is None else request.policy, []).append(i)
        for policy, places in by_policy.items():
            with self._answering(policy) as (model, fill):
                for part in self._parts([requests[i] for i in places], sampling.max_tokens):
                    batch = [places[n] for n in part]
                    sampled = self._sample(model, fill, policy, [requests[i] for i in batch], sampling)
                    completions.update(zip(batch, sampled, strict=True))
        return [completions[i] for i in range(len(requests))]

    def score(
        self, pairs: Sequence[tuple[Tokens, Tokens]], *, temperature: float = 1.0, policy: Policy | None = None
    ) -> list[tuple[float, ...]]:
        """Return the log-probabilities of given completions: for each pair one number for each token of the
        completion."""
        if temperature <= 0.0:
            raise GymposiumError(f"temperature={temperature}: only probabilities at a temperature above 0 are scored.")
        unique = list(dict.fromkeys(pairs))
        by_pair: dict[tuple[Tokens, Tokens], tuple[float, ...]] = {}
        with self._answering(self._policy if policy is None else policy) as (model, fill):
            for chunk in chunked(unique, TOKEN_BUDGET, max(1, LOGIT_BUDGET // _vocabulary(model))):
                self._calls.go_on()
                logits, tokens, _ = completion_logits(model, [unique[i] for i in chunk], self.pad, fill)
                scores = torch.log_softmax(logits / temperature, dim=-1).gather(-1, tokens[..., None])[..., 0]
                for i, row in zip(chunk, scores.tolist(), strict=True):
                    by_pair[unique[i]] = tuple(row[: len(unique[i][1])])
        return [by_pair[pair] for pair in pairs]

    @contextmanager
    def _answering(self, policy: Policy) -> Iterator[tuple[Any, Fill]]:
        """Yields the transformers model, which answers as `policy`, and the function that prefills its prompts."""
        self._adapters.check(policy)
        with self._calls.lock, self._adapters.answering(policy), torch.inference_mode():
            yield base_of(self.model), partial(self._prefixes.fill, policy)

    def _sample(
        self, model: Any, fill: Fill, policy: Policy, requests: list[TokenRequest], sampling: Sampling
    ) -> list[Completion]:
        batch, place = fill(model, list({r.prompt: None for r in requests}), self.pad, sampling.max_tokens)
        node = [place[r.prompt] for r in requests]  # each request's row in the batch
        room = [min(sampling.max_tokens, self.context - len(r.prompt)) for r in requests]
        ids: list[list[int]] = [[] for _ in requests]
        logprobs: list[list[float]] = [[] for _ in requests]
        live = list(range(len(requests)))
        stopped: set[int] = set()
        while True:
            self._calls.go_on()
            tokens, scores = choose(batch, [node[i] for i in live], [requests[i] for i in live], sampling)
            for i, token, logprob in zip(live, tokens, scores, strict=True):
                ids[i].append(token)
                logprobs[i].append(logprob)
                watch = requests[i].watch
                if token in self.stops or (watch is not None and watch(token)):
                    stopped.add(i)
            live = [i for i in live if i not in stopped and len(ids[i]) < room[i]]
            if not live:
                break
            nodes = sorted({(node[i], ids[i][-1]) for i in live})
            index = {key: n for n, key in enumerate(nodes)}
            for i in live:
                node[i] = index[node[i], ids[i][-1]]
            new = torch.tensor([[token] for _, token in nodes], device=batch.logits.device)
            extend(model, batch, [parent for parent, _ in nodes], new, torch.ones_like(new))
        return [
            Completion(tuple(ids[i]), tuple(logprobs[i]), "stop" if i in stopped else "length", policy)
            for i in range(len(requests))
        ]

    def _parts(self, requests: Sequence[TokenRequest], max_tokens: int) -> list[list[int]]:
        """Divide the requests into parts that fit the budgets, or hold a single request; returns their indices, with
        equal prompts together. In the worst case each reply differs and needs the cache of its whole prompt, padded."""
        most = max(1, LOGIT_BUDGET // _vocabulary(self.model))
        parts: list[list[int]] = [[]]
        longest = 0
        for i in sorted(range(len(requests)), key=lambda i: requests[i].prompt):
            length = len(requests[i].prompt) + max_tokens
            size = len(parts[-1]) + 1
            if parts[-1] and (size > most or size * max(longest, length) > TOKEN_BUDGET):
                parts.append([])
                longest = 0
            parts[-1].append(i)
            longest = max(longest, length)
        return parts


def base_of(model: Any) -> Any:
    """The transformers model inside a PEFT model, which has its LoRA layers in place; other models are returned
    unchanged."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def choose(
    batch: Prefilled, nodes: list[int], requests: list[TokenRequest], sampling: Sampling
) -> tuple[list[int], list[float]]:
    """Sample the next token of each request, by inversion of the cumulative distribution; returns the tokens and their
    log-probabilities. Temperature 0 takes the most likely token."""
    greedy = sampling.temperature == 0.0
    scores = torch.log_softmax(batch.logits if greedy else batch.logits / sampling.temperature, dim=-1)
    where = torch.tensor(nodes, device=scores.device)
    if greedy:
        chosen = scores.argmax(dim=-1)[where]
    else:
        cumulative = scores.double().exp().cumsum(dim=-1)
        draws = torch.tensor([r.rng.random() for r in requests], dtype=torch.float64, device=scores.device)
        thresholds = draws * cumulative[where, -1]
        chosen = torch.searchsorted(cumulative[where], thresholds[:, None], right=True)[:, 0]
        chosen = chosen.clamp(max=scores.shape[-1] - 1)
    return chosen.tolist(), scores[where, chosen].tolist()


def _vocabulary(model: Any) -> int:
    return int(model.config.get_text_config(decoder=True).vocab_size)
