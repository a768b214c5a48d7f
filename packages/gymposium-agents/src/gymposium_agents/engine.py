"""transformers in process: the first token engine, on a CPU or a GPU, and the oracle for any other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from gymposium_agents.forward import Prefilled, Tokens, extend, prefill
from gymposium_agents.tokens import Completion, Sampling, TokenRequest

PROMPT_BUDGET = 65_536
"""Prompt tokens in one forward pass."""


class TransformersEngine:
    """Samples from a transformers model. Requests that stand at the same tokens share one forward pass:
    equal prompts are prefilled once, and equal beginnings of completions are continued once."""

    def __init__(self, model: Any, *, stop: int, pad: int, policy_version: int = 0) -> None:
        self.model = model
        self.stop, self.pad = stop, pad
        self.policy_version = policy_version

    def generate(self, requests: Sequence[TokenRequest], sampling: Sampling) -> list[Completion]:
        """One completion for each request, in order."""
        answers: list[Completion | None] = [None] * len(requests)
        training = self.model.training
        self.model.eval()
        with torch.inference_mode():
            for part in _parts(requests):
                for i, completion in zip(part, self._sample([requests[i] for i in part], sampling), strict=True):
                    answers[i] = completion
        self.model.train(training)
        return [answer for answer in answers if answer is not None]

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
            live = [i for i in live if ids[i][-1] != self.stop]
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
            Completion(tuple(i), tuple(p), "stop" if i[-1] == self.stop else "length", self.policy_version)
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


def _parts(requests: Sequence[TokenRequest]) -> list[list[int]]:
    """Indices of the requests in parts whose distinct prompts fit the budget."""
    by_prompt: dict[Tokens, list[int]] = {}
    for i, request in enumerate(requests):
        by_prompt.setdefault(request.prompt, []).append(i)
    parts: list[list[int]] = []
    used = PROMPT_BUDGET + 1
    for prompt in sorted(by_prompt):
        if used + len(prompt) > PROMPT_BUDGET:
            parts.append([])
            used = 0
        parts[-1].extend(by_prompt[prompt])
        used += len(prompt)
    return parts
