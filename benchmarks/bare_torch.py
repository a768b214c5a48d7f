"""Baselines of the benchmarks: sampling and logits in plain PyTorch and transformers, without shared work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from gymposium_agents.chat.tokens import BASE, Completion, Sampling, TokenRequest

Round = Sequence[TokenRequest]
Pair = tuple[tuple[int, ...], tuple[int, ...]]


def padded_left(requests: Round, pad: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return prompts [B, T], padded on the left, and their mask."""
    longest = max(len(r.prompt) for r in requests)
    ids = torch.tensor([[pad] * (longest - len(r.prompt)) + list(r.prompt) for r in requests])
    mask = torch.tensor([[0] * (longest - len(r.prompt)) + [1] * len(r.prompt) for r in requests])
    return ids.to(device), mask.to(device)


def sample_transformers(model: Any, requests: Round, sampling: Sampling, *, pad: int, stop: int | None) -> None:
    """Sample one batch with `generate`. `stop` is the token that ends a reply; None samples `max_tokens` for each."""
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


@torch.inference_mode()
def sample_bare(model: Any, requests: Round, sampling: Sampling, *, pad: int, stop: int | None) -> list[Completion]:
    """Sample one batch in a plain loop. `stop` is the token that ends a reply; None samples `max_tokens` for each."""
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


def compute_logits(model: Any, pairs: Sequence[Pair], pad: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the logits [B, L, V] that predict each completion token, the tokens [B, L] and their mask."""
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
