"""transformers in process: the first token engine, on a CPU or a GPU, and the oracle for any other."""

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
"""Tokens, of prompts and of the replies to come, that are sampled at once."""
LOGIT_BUDGET = 2**26
"""Logits that are looked at at once: a vocabulary can be 150,000 words."""
PREFIX_TOKENS = 8_192
"""Tokens of shared beginnings whose keys and values are kept."""


class TransformersEngine:
    """Samples from a transformers model. Requests that stand at the same tokens share one forward pass:
    equal prompts are prefilled once, and equal beginnings of completions are continued once. What many prompts begin
    with is prefilled once for each set of weights (`prefixes`).

    Equal requests, asked together in the same order, get equal answers to the bit, whatever was asked before: on a
    CPU with the same number of threads, and on a GPU where its kernels are deterministic. In other company a
    log-probability may differ by rounding (1e-6 in float32), and a token that was drawn that close to another with it.

    It hosts adapters (`AdapterHost`). A learner may share the model: between calls it stands as it was handed over.
    `policy` says whose weights the model comes with: those of its active adapter, or its own where it has none.
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
        """So many tokens a prompt and its completion may have together."""
        self._calls = Calls()  # two players of one model may ask at once, each in a thread of its own (`streaming`)

    @property
    def model(self) -> Any:
        return self._adapters.model

    @property
    def policy(self) -> Policy:
        """Who answers requests that name nobody."""
        return self._policy

    @property
    def adapters(self) -> tuple[Policy, ...]:
        """The adapters that are held, oldest first, with the one that the model came with."""
        return self._adapters.held

    def load(self, directory: Path, policy: Policy) -> None:
        """Load the adapter in `directory` as `policy`, beside the others. Raises `GymposiumError` where it does not
        fit."""
        with self._calls:
            self._adapters.load(directory, policy)

    def publish(self, directory: Path, policy: Policy) -> None:
        """Load the adapter in `directory` as `policy`, which answers from now on where nobody is named. Raises
        `GymposiumError` where it does not fit."""
        with self._calls:
            self._adapters.load(directory, policy)
            self._policy = policy

    def retire(self, policy: Policy) -> None:
        """Let go of a published adapter. Raises `GymposiumError` where it is the current policy or is not there."""
        if policy == self._policy:
            raise GymposiumError(f"{str(policy)!r} is the current policy; publish another before it is retired.")
        with self._calls:
            self._adapters.unload(policy)
            self._prefixes.drop(policy)

    def digest(self, policy: Policy) -> str | None:
        """The digest of the adapter that answers as `policy`; None where that has none."""
        with self._calls:
            return self._adapters.digest(policy)

    def weights_changed(self, policy: Policy) -> None:
        """A learner that shares the model has changed the weights that it came with, which are `policy` now and
        answer where nobody is named."""
        with self._calls:
            over_base = self._adapters.own not in self._adapters.held
            self._prefixes.drop(None if over_base else self._adapters.own)  # all adapters stand on the base
            self._adapters.rename(policy)
            self._policy = policy

    def close(self) -> None:
        """Nothing: the engine holds only memory."""

    def generate(self, requests: Sequence[TokenRequest], sampling: Sampling) -> list[Completion]:
        """One completion for each request, in order."""
        for request in requests:
            if len(request.prompt) >= self.context:
                raise GymposiumError(
                    f"A prompt of {len(request.prompt)} tokens leaves no room for a reply in a context of "
                    f"{self.context}. Take a shorter context (last-K or state), or a model with a longer one."
                )
        found: dict[int, Completion] = {}
        by_policy: dict[Policy, list[int]] = {}
        for i, request in enumerate(requests):
            by_policy.setdefault(self._policy if request.policy is None else request.policy, []).append(i)
        for policy, theirs in by_policy.items():
            with self._answering(policy) as (model, fill):
                for part in self._parts([requests[i] for i in theirs], sampling.max_tokens):
                    chosen = [theirs[n] for n in part]
                    completions = self._sample(model, fill, policy, [requests[i] for i in chosen], sampling)
                    found.update(zip(chosen, completions, strict=True))
        return [found[i] for i in range(len(requests))]

    def score(
        self, pairs: Sequence[tuple[Tokens, Tokens]], *, temperature: float = 1.0, policy: Policy | None = None
    ) -> list[tuple[float, ...]]:
        """Log-probabilities of given completions: one number a completion token, for each pair in order."""
        if temperature <= 0.0:
            raise GymposiumError(f"temperature={temperature}: only probabilities at a temperature above 0 are scored.")
        unique = list(dict.fromkeys(pairs))
        found: dict[tuple[Tokens, Tokens], tuple[float, ...]] = {}
        with self._answering(self._policy if policy is None else policy) as (model, fill):
            for chunk in chunked(unique, TOKEN_BUDGET, max(1, LOGIT_BUDGET // _vocabulary(model))):
                self._calls.go_on()
                logits, tokens, _ = completion_logits(model, [unique[i] for i in chunk], self.pad, fill)
                scores = torch.log_softmax(logits / temperature, dim=-1).gather(-1, tokens[..., None])[..., 0]
                for i, row in zip(chunk, scores.tolist(), strict=True):
                    found[unique[i]] = tuple(row[: len(unique[i][1])])
        return [found[pair] for pair in pairs]

    @contextmanager
    def _answering(self, policy: Policy) -> Iterator[tuple[Any, Fill]]:
        """The transformers model, answering as `policy`, and how prompts are run through it."""
        self._adapters.check(policy)
        with self._calls, self._adapters.answering(policy), torch.inference_mode():
            yield base_of(self.model), partial(self._prefixes.fill, policy)

    def _sample(
        self, model: Any, fill: Fill, policy: Policy, requests: list[TokenRequest], sampling: Sampling
    ) -> list[Completion]:
        batch, place = fill(model, list({r.prompt: None for r in requests}), self.pad, sampling.max_tokens)
        node = [place[r.prompt] for r in requests]  # where in the batch each request stands
        room = [min(sampling.max_tokens, self.context - len(r.prompt)) for r in requests]
        ids: list[list[int]] = [[] for _ in requests]
        logprobs: list[list[float]] = [[] for _ in requests]
        live = list(range(len(requests)))
        while True:
            self._calls.go_on()
            chosen, theirs = choose(batch, [node[i] for i in live], [requests[i] for i in live], sampling)
            for i, token, logprob in zip(live, chosen, theirs, strict=True):
                ids[i].append(token)
                logprobs[i].append(logprob)
            live = [i for i in live if ids[i][-1] not in self.stops and len(ids[i]) < room[i]]
            if not live:
                break
            nodes = sorted({(node[i], ids[i][-1]) for i in live})
            index = {key: n for n, key in enumerate(nodes)}
            for i in live:
                node[i] = index[node[i], ids[i][-1]]
            tokens = torch.tensor([[token] for _, token in nodes], device=batch.logits.device)
            extend(model, batch, [parent for parent, _ in nodes], tokens, torch.ones_like(tokens))
        return [
            Completion(tuple(i), tuple(p), "stop" if i[-1] in self.stops else "length", policy)
            for i, p in zip(ids, logprobs, strict=True)
        ]

    def _parts(self, requests: Sequence[TokenRequest], max_tokens: int) -> list[list[int]]:
        """Indices of the requests in parts that fit the budgets (and hold at least one), equal prompts together.
        In the worst case every reply goes its own way and needs the cache of its whole prompt, padded."""
        most = max(1, LOGIT_BUDGET // _vocabulary(self.model))
        order = sorted(range(len(requests)), key=lambda i: requests[i].prompt)
        parts: list[list[int]] = [[]]
        longest = 0
        for i in order:
            length = len(requests[i].prompt) + max_tokens
            size = len(parts[-1]) + 1
            if parts[-1] and (size > most or size * max(longest, length) > TOKEN_BUDGET):
                parts.append([])
                longest = 0
            parts[-1].append(i)
            longest = max(longest, length)
        return parts


def base_of(model: Any) -> Any:
    """The transformers model inside a PEFT model (its LoRA layers are injected in place), or itself."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def choose(
    batch: Prefilled, nodes: list[int], requests: list[TokenRequest], sampling: Sampling
) -> tuple[list[int], list[float]]:
    """The next token of each request and its log-probability, by inverting the distribution function."""
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
