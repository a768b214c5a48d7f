"""Forward passes that do shared work once: the prefix that prompts share, then each distinct prompt, then
what is added to it.

Games ask many seats the same thing (the rules always, the empty board in every match), so most of a
batch's prompt tokens repeat. Nothing is approximated: a shared prefix has one key-value cache, which is
expanded or selected, and gradients flow through both. Prompts are left-padded behind the shared prefix.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

Tokens = tuple[int, ...]


@dataclass(slots=True)
class Prefilled:
    """A batch of B sequences under way."""

    logits: Tensor
    """[B, V], float32: what comes next."""
    cache: DynamicCache
    mask: Tensor
    """[B, T], 1 where a cached position is a token, 0 where it is padding."""


def prefill(model: Any, prompts: Sequence[Tokens], pad: int) -> Prefilled:
    """Run B distinct prompts; what they all begin with is run once."""
    device = model.device
    shared = _shared_length(prompts)
    cache = DynamicCache(config=model.config)
    rest = max(len(p) for p in prompts) - shared
    ids = torch.full((len(prompts), rest), pad, dtype=torch.long)
    mask = torch.zeros((len(prompts), shared + rest), dtype=torch.long)
    mask[:, :shared] = 1
    for row, prompt in enumerate(prompts):
        tail = prompt[shared:]
        ids[row, rest - len(tail) :] = torch.tensor(tail)
        mask[row, shared + rest - len(tail) :] = 1
    ids, mask = ids.to(device), mask.to(device)
    if shared:
        head = torch.tensor([prompts[0][:shared]], device=device)
        model(input_ids=head, past_key_values=cache, use_cache=True, logits_to_keep=1)
        cache.batch_select_indices(torch.zeros(len(prompts), dtype=torch.long, device=device))
    out = model(
        input_ids=ids,
        attention_mask=mask,
        position_ids=_positions(mask)[:, shared:],
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=1,
    )
    return Prefilled(out.logits[:, -1].float(), cache, mask)


def extend(model: Any, batch: Prefilled, parents: Tensor, tokens: Tensor, real: Tensor) -> Tensor:
    """Add `tokens` [C, K] (1 in `real` where they are no padding, which stands on the right) to the
    sequences that `parents` [C] selects. Returns what follows each of them, [C, K, V] float32, and leaves
    the batch standing behind them."""
    batch.cache.batch_select_indices(parents)
    batch.mask = torch.cat([batch.mask[parents], real], dim=1)
    out = model(
        input_ids=tokens,
        attention_mask=batch.mask,
        position_ids=_positions(batch.mask)[:, -tokens.shape[1] :],
        past_key_values=batch.cache,
        use_cache=True,
    )
    logits: Tensor = out.logits.float()
    batch.logits = logits[:, -1]
    return logits


def completion_logits(model: Any, pairs: Sequence[tuple[Tokens, Tokens]], pad: int) -> tuple[Tensor, Tensor, Tensor]:
    """Teacher forcing for C distinct (prompt, completion) pairs: logits [C, L, V] that predict each
    completion token, the tokens [C, L], and a mask [C, L] that is 1 on real ones."""
    prompts = list(dict.fromkeys(prompt for prompt, _ in pairs))
    place = {prompt: i for i, prompt in enumerate(prompts)}
    batch = prefill(model, prompts, pad)
    device = batch.logits.device
    parents = torch.tensor([place[prompt] for prompt, _ in pairs], device=device)
    length = max(len(completion) for _, completion in pairs)
    tokens = torch.full((len(pairs), length), pad, dtype=torch.long)
    mask = torch.zeros((len(pairs), length), dtype=torch.long)
    for row, (_, completion) in enumerate(pairs):
        tokens[row, : len(completion)] = torch.tensor(completion)
        mask[row, : len(completion)] = 1
    tokens, mask = tokens.to(device), mask.to(device)
    logits = batch.logits[parents][:, None]
    if length > 1:
        later = extend(model, batch, parents, tokens[:, :-1], mask[:, :-1])
        logits = torch.cat([logits, later], dim=1)
    return logits, tokens, mask


def chunked(pairs: Sequence[tuple[Tokens, Tokens]], budget: int) -> Iterator[list[int]]:
    """Indices of distinct pairs in chunks of at most `budget` padded tokens (and at least one pair). Pairs
    with equal prompts, and prompts with long common beginnings, stand together."""
    order = sorted(range(len(pairs)), key=lambda i: pairs[i])
    chunk: list[int] = []
    prompts = longest_prompt = longest = 0
    last: Tokens | None = None
    for i in order:
        prompt, completion = pairs[i]
        more = prompts + (prompt != last)
        wide, deep = max(longest_prompt, len(prompt)), max(longest, len(completion))
        if chunk and more * wide + (len(chunk) + 1) * deep > budget:
            yield chunk
            chunk, more, wide, deep = [], 1, len(prompt), len(completion)
        chunk.append(i)
        prompts, longest_prompt, longest, last = more, wide, deep, prompt
    if chunk:
        yield chunk


def _shared_length(prompts: Sequence[Tokens]) -> int:
    """How many tokens all prompts begin with, at most all but the last of the shortest."""
    first, last = min(prompts), max(prompts)
    most = min(len(p) for p in prompts) - 1
    for i in range(most):
        if first[i] != last[i]:
            return i
    return most


def _positions(mask: Tensor) -> Tensor:
    return (mask.cumsum(dim=1) - 1).clamp(min=0)
