"""The floor: the same work as one writes it with PyTorch and transformers alone, sharing nothing between sequences.

Generation: for each call of the engine, prompts padded on the left and run as one batch, then one forward pass a token
over a key-value cache, `multinomial`, and the log-probability of what was drawn. Learning: the same rows in the same
optimizer steps, padded on the right, in micro-batches, logits at every place, the clipped loss on sampled tokens,
backward, clipping, AdamW. Games, prompts, tokenization, replies, rewards and credit are no part of it: their results
are handed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from benchmarks.bare_torch import compute_logits, sample_bare
from benchmarks.training_speed.work import Work
from gymposium.util.streams import stream
from gymposium_agents.chat.tokens import Completion, Sampling
from gymposium_train.config import Optimizer
from gymposium_train.learner.minibatches import make_minibatches
from gymposium_train.learner.rows import Row, Tokens
from gymposium_train.objective.ppo import PpoSettings
from gymposium_train.objective.protocol import ObjectiveSettings

MICRO_BATCH = 64
"""Rows in one forward pass."""


def generate(model: Any, work: Work, sampling: Sampling, *, pad: int, stop: int) -> list[list[Completion]]:
    return [sample_bare(model, requests, sampling, pad=pad, stop=stop) for requests in work.requests()]


def update(
    model: Any,
    optimizer: torch.optim.Optimizer,
    work: Work,
    settings: Optimizer,
    objective: ObjectiveSettings,
    *,
    pad: int,
    temperature: float = 1.0,
) -> float:
    """Learn from the rows; returns the mean gradient norm of the optimizer steps. The objective is `ppo`."""
    assert isinstance(objective, PpoSettings)
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    for group in optimizer.param_groups:
        group["lr"] = work.update["learning_rate"]
    norms = []
    for epoch in range(settings.epochs):
        rng = stream(work.update["seed"], "epoch", epoch)
        batches = make_minibatches(work.rows, settings.minibatches, rng)
        for batch in batches:
            optimizer.zero_grad(set_to_none=True)
            for first in range(0, len(batch), MICRO_BATCH):
                part = batch[first : first + MICRO_BATCH]
                loss = _loss(model, part, objective, pad, temperature)
                (len(batches) * loss).backward()  # type: ignore[no-untyped-call]
            norms.append(float(torch.nn.utils.clip_grad_norm_(parameters, settings.max_grad_norm)))
            optimizer.step()
    return sum(norms) / len(norms)


def _loss(model: Any, rows: Sequence[Row], objective: PpoSettings, pad: int, temperature: float) -> Tensor:
    width = max(len(row.ids) for row in rows)
    ids = torch.tensor([[*row.ids, *[pad] * (width - len(row.ids))] for row in rows], device=model.device)
    real = torch.tensor([[1] * len(row.ids) + [0] * (width - len(row.ids)) for row in rows], device=model.device)
    logits = model(input_ids=ids, attention_mask=real, use_cache=False).logits.float()
    spans = [(n, span) for n, row in enumerate(rows) for span in row.spans]
    line = torch.tensor([n for n, span in spans for _ in range(len(span))], device=model.device)
    place = torch.tensor([p for _, span in spans for p in range(span.start, span.stop)], device=model.device)

    def each(values: Sequence[float]) -> Tensor:
        lengths = torch.tensor([len(span) for _, span in spans])
        return torch.tensor(values).repeat_interleave(lengths).to(model.device)

    chosen = logits[line, place - 1] / temperature
    scores = torch.log_softmax(chosen, dim=-1)
    logprobs = scores.gather(-1, ids[line, place][:, None])[:, 0]
    old = torch.tensor([*chain.from_iterable(span.engine for _, span in spans)], device=model.device)
    advantages, weights = each([span.advantage for _, span in spans]), each([span.weight for _, span in spans])
    ratio = (logprobs - old).exp()
    clipped = ratio.clamp(1.0 - objective.clip_low, 1.0 + objective.clip_high)
    losses = -(ratio * advantages).minimum(clipped * advantages)
    return (losses * weights).sum()


def imitate(
    model: Any, optimizer: torch.optim.Optimizer, pairs: Sequence[tuple[Tokens, Tokens]], rate: float, pad: int
) -> None:
    """One step of SFT on (prompt, reply) pairs."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    for group in optimizer.param_groups:
        group["lr"] = rate
    total = sum(len(reply) for _, reply in pairs)
    optimizer.zero_grad(set_to_none=True)
    for first in range(0, len(pairs), MICRO_BATCH):
        logits, tokens, mask = compute_logits(model, pairs[first : first + MICRO_BATCH], pad)
        logprobs = torch.log_softmax(logits, dim=-1).gather(-1, tokens[..., None])[..., 0]
        (-(logprobs * mask).sum() / total).backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_(parameters, 1.0)
    optimizer.step()
