"""The other side of `training_speed`: what one writes with PyTorch and transformers and no sharing of work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from gymposium.streams import stream
from gymposium_agents.engines.transformers import base_of
from gymposium_agents.loading import LoadedModel
from gymposium_agents.tokens import BASE, Completion, Sampling, TokenRequest
from gymposium_train.config import Grpo
from gymposium_train.learner import minibatches
from gymposium_train.objective import entropy, ppo_clip
from gymposium_train.rows import Row

Round = Sequence[TokenRequest]
Pair = tuple[tuple[int, ...], tuple[int, ...]]

MICRO_BATCH = 128
"""Rows in one forward pass of the update."""


def padded_left(requests: Round, pad: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Prompts [B, T] and their mask."""
    longest = max(len(r.prompt) for r in requests)
    ids = torch.tensor([[pad] * (longest - len(r.prompt)) + list(r.prompt) for r in requests])
    mask = torch.tensor([[0] * (longest - len(r.prompt)) + [1] * len(r.prompt) for r in requests])
    return ids.to(device), mask.to(device)


def generate_transformers(loaded: LoadedModel, rounds: Sequence[Round], sampling: Sampling) -> None:
    """By transformers' own `generate`, left-padded."""
    for requests in rounds:
        sample_transformers(base_of(loaded.model), requests, sampling, pad=loaded.pad, stop=loaded.chat.end)


def sample_transformers(model: Any, requests: Round, sampling: Sampling, *, pad: int, stop: int | None) -> None:
    """One batch; `stop` is the token that ends a reply, None where each is to have `max_tokens`."""
    ids, mask = padded_left(requests, pad, model.device)
    model.generate(
        input_ids=ids,
        attention_mask=mask,
        do_sample=True,
        temperature=sampling.temperature,
        top_k=0,
        top_p=1.0,
        max_new_tokens=sampling.max_tokens,
        eos_token_id=stop,
        pad_token_id=pad,
    )


def generate_bare(loaded: LoadedModel, rounds: Sequence[Round], sampling: Sampling) -> list[list[Completion]]:
    """By a batched prefill and one forward pass a token."""
    model = base_of(loaded.model)
    return [sample_bare(model, requests, sampling, pad=loaded.pad, stop=loaded.chat.end) for requests in rounds]


@torch.inference_mode()
def sample_bare(model: Any, requests: Round, sampling: Sampling, *, pad: int, stop: int | None) -> list[Completion]:
    """One batch; `stop` is the token that ends a reply, None where each is to have `max_tokens`."""
    ids, mask = padded_left(requests, pad, model.device)
    cache = DynamicCache(config=model.config)
    positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
    tokens, logprobs = [], []
    done = torch.zeros(len(ids), dtype=torch.bool, device=model.device)
    for _ in range(sampling.max_tokens):
        out = model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        )
        scores = torch.log_softmax(out.logits[:, -1].float() / sampling.temperature, dim=-1)
        ids = torch.multinomial(scores.exp(), 1)
        tokens.append(ids)
        logprobs.append(scores.gather(1, ids))
        if stop is not None:
            done |= ids[:, 0] == stop
            if done.all():
                break
        mask = torch.cat([mask, torch.ones_like(ids)], dim=1)
        positions = positions[:, -1:] + 1
    found = []
    for row, scores_of_row in zip(torch.cat(tokens, 1).tolist(), torch.cat(logprobs, 1).tolist(), strict=True):
        length = row.index(stop) + 1 if stop in row else len(row)
        found.append(
            Completion(tuple(row[:length]), tuple(scores_of_row[:length]), "stop" if stop in row else "length", BASE)
        )
    return found


def update_bare(loaded: LoadedModel, rows: Sequence[Row], settings: Grpo, seed: int) -> float:
    """The first update of a run on these rows; the mean gradient norm over its optimizer steps."""
    parameters = [p for p in loaded.model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=settings.learning_rate_at(0), weight_decay=0.0)
    norms = []
    total = sum(len(row.completion) for row in rows) / settings.minibatches
    for epoch in range(settings.epochs):
        for batch in minibatches(rows, settings.minibatches, stream(seed, "epoch", epoch)):
            optimizer.zero_grad(set_to_none=True)
            for first in range(0, len(batch), MICRO_BATCH):
                micro = batch[first : first + MICRO_BATCH]
                logits, tokens, mask = logits_bare(loaded, [(row.prompt, row.completion) for row in micro])
                logits = logits / settings.temperature
                logprobs = torch.log_softmax(logits, dim=-1).gather(-1, tokens[..., None])[..., 0]
                width = mask.shape[1]
                old = torch.tensor([[*row.logprobs, *[0.0] * (width - len(row.logprobs))] for row in micro])
                advantages = torch.tensor([[row.advantage] for row in micro])
                losses = ppo_clip(logprobs, old, advantages, settings.clip_low, settings.clip_high)
                losses = losses - settings.entropy_at(0) * entropy(logits)
                ((losses * mask).sum() / total).backward()  # type: ignore[no-untyped-call]
            norms.append(float(torch.nn.utils.clip_grad_norm_(parameters, settings.max_grad_norm)))
            optimizer.step()
    return sum(norms) / len(norms)


def logits_bare(loaded: LoadedModel, pairs: Sequence[Pair]) -> tuple[Tensor, Tensor, Tensor]:
    """Logits [B, L, V] that predict each completion token, the tokens [B, L] and their mask."""
    return logits_of(base_of(loaded.model), pairs, loaded.pad)


def logits_of(model: Any, pairs: Sequence[Pair], pad: int) -> tuple[Tensor, Tensor, Tensor]:
    """As `logits_bare`, of a transformers model."""
    longest = max(len(prompt) + len(completion) for prompt, completion in pairs)
    width = max(len(completion) for _, completion in pairs)
    filled = torch.tensor([[*p, *c, *[pad] * (longest - len(p) - len(c))] for p, c in pairs], device=model.device)
    masked = torch.tensor([[1] * (len(p) + len(c)) + [0] * (longest - len(p) - len(c)) for p, c in pairs])
    logits = model(input_ids=filled, attention_mask=masked.to(model.device)).logits.float()
    places = torch.tensor([[min(len(p) - 1 + n, longest - 1) for n in range(width)] for p, _ in pairs])
    chosen = logits.gather(1, places.to(model.device)[..., None].expand(-1, -1, logits.shape[-1]))
    tokens = torch.tensor([[*c, *[pad] * (width - len(c))] for _, c in pairs], device=model.device)
    mask = torch.tensor([[1] * len(c) + [0] * (width - len(c)) for _, c in pairs], device=model.device)
    return chosen, tokens, mask
