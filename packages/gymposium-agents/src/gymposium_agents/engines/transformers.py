"""transformers in process: the first token engine, on a CPU or a GPU, and the oracle for any other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from gymposium_agents.forward import Prefilled, Tokens, chunked, completion_logits, extend, prefill
from gymposium_agents.tokens import BASE, Completion, Policy, Sampling, TokenRequest

TOKEN_BUDGET = 65_536
"""Tokens, of prompts and of the replies to come, that are sampled at once."""


class TransformersEngine:
    """Samples from a transformers model. Requests that stand at the same tokens share one forward pass:
    equal prompts are prefilled once, and equal beginnings of completions are continued once."""

    def __init__(self, model: Any, *, stops: frozenset[int], pad: int, policy: Policy = BASE) -> None:
        self.model = model
        self.stops, self.pad = stops, pad
        self.policy = policy

    @property
    def context(self) -> int:
        return int(self.model.config.max_position_embeddings)

    def generate(self, requests: Sequence[TokenRequest], sampling: Sampling) -> list[Completion]:
        """One completion for each request, in order."""
        answers: list[Completion | None] = [None] * len(requests)
        training = self.model.training
        self.model.eval()
        with torch.inference_mode():
            for part in _parts(requests, sampling.max_tokens):
                for i, completion in zip(part, self._sample([requests[i] for i in part], sampling), strict=True):
                    answers[i] = completion
        self.model.train(training)
        return [answer for answer in answers if answer is not None]

    def score(
        self, pairs: Sequence[tuple[Tokens, Tokens]], *, temperature: float = 1.0, policy: Policy | None = None
    ) -> list[tuple[float, ...]]:
        """Log-probabilities of given completions: one number a completion token, for each pair in order."""
        unique = list(dict.fromkeys(pairs))
        found: dict[tuple[Tokens, Tokens], tuple[float, ...]] = {}
        training = self.model.training
        self.model.eval()
        with torch.inference_mode():
            for chunk in chunked(unique, TOKEN_BUDGET):
                logits, tokens, _ = completion_logits(base_of(self.model), [unique[i] for i in chunk], self.pad)
                scores = torch.log_softmax(logits / temperature, dim=-1).gather(-1, tokens[..., None])[..., 0]
                for i, row in zip(chunk, scores.tolist(), strict=True):
                    found[unique[i]] = tuple(row[: len(unique[i][1])])
        self.model.train(training)
        return [found[pair] for pair in pairs]

    def _sample(self, requests: list[TokenRequest], sampling: Sampling) -> list[Completion]:
        prompts = sorted({r.prompt for r in requests})
        place = {prompt: i for i, prompt in enumerate(prompts)}
        model = base_of(self.model)
        batch = prefill(model, prompts, self.pad)
        node = [place[r.prompt] for r in requests]  # where in the batch each request stands
        ids: list[list[int]] = [[] for _ in requests]
        logprobs: list[list[float]] = [[] for _ in requests]
        live = list(range(len(requests)))
        for step in range(sampling.max_tokens):
            chosen, theirs = _choose(batch, [node[i] for i in live], [requests[i] for i in live], sampling)
            for i, token, logprob in zip(live, chosen, theirs, strict=True):
                ids[i].append(token)
                logprobs[i].append(logprob)
            live = [i for i in live if ids[i][-1] not in self.stops]
            if not live or step + 1 == sampling.max_tokens:
                break
            nodes = sorted({(node[i], ids[i][-1]) for i in live})
            index = {key: n for n, key in enumerate(nodes)}
            for i in live:
                node[i] = index[node[i], ids[i][-1]]
            device = batch.logits.device
            parents = torch.tensor([parent for parent, _ in nodes], device=device)
            tokens = torch.tensor([[token] for _, token in nodes], device=device)
            extend(model, batch, parents, tokens, torch.ones_like(tokens))
        return [
            Completion(tuple(i), tuple(p), "stop" if i[-1] in self.stops else "length", self.policy)
            for i, p in zip(ids, logprobs, strict=True)
        ]


def base_of(model: Any) -> Any:
    """The transformers model inside a PEFT model (its LoRA layers are injected in place), or itself."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def _choose(
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


def _parts(requests: Sequence[TokenRequest], max_tokens: int) -> list[list[int]]:
    """Indices of the requests in parts that fit the budget (and hold at least one), equal prompts together.
    In the worst case every reply goes its own way and needs the cache of its whole prompt."""
    order = sorted(range(len(requests)), key=lambda i: requests[i].prompt)
    parts: list[list[int]] = []
    used = TOKEN_BUDGET + 1
    for i in order:
        size = len(requests[i].prompt) + max_tokens
        if used + size > TOKEN_BUDGET:
            parts.append([])
            used = 0
        parts[-1].append(i)
        used += size
    return parts
