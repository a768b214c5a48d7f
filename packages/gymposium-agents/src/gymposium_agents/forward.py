"""Forward passes that do shared work once: the prefix that prompts share, then each distinct prompt, then
what is added to it.

Games ask many seats the same thing (the rules always, the empty board in every match), so most of a
batch's prompt tokens repeat. Nothing is approximated: a shared prefix has one key-value cache, which is
expanded or selected, and gradients flow through both. Prompts are left-padded behind the shared prefix.

Padding may stand in the middle of a row, so sliding windows are counted in positions, not in places of the cache:
past the window's size we hand the model masks of our own, and the cache keeps what the window has left behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad as padded
from transformers.cache_utils import Cache, DynamicCache

from gymposium_agents.caches import repeated, roomy, stacked
from gymposium_agents.windows import sliding, windowed

Tokens = tuple[int, ...]

WORTH_A_PASS = 32
"""Tokens that must be saved for a forward pass of its own over what a batch's prompts share."""


@dataclass(slots=True)
class Prefilled:
    """A batch of B sequences under way."""

    logits: Tensor
    """[B, V], float32: what comes next."""
    cache: Cache
    mask: Tensor
    """[B, T], 1 where a cached position is a token, 0 where it is padding."""


Fill = Callable[[Any, Sequence[Tokens], int, int], tuple[Prefilled, dict[Tokens, int]]]
"""Runs distinct prompts through a model, padded with a token, with room for so many tokens to come; says in which row
each prompt stands."""


def prefill(
    model: Any, prompts: Sequence[Tokens], pad: int, *, prefix: Cache | None = None, room: int | None = None
) -> Prefilled:
    """Run B distinct prompts; what they all begin with is run once. `prefix` holds the keys and values of tokens
    that they all begin with, as a batch of one; it is used up. With `room` for so many tokens to come the batch grows
    faster, and takes no gradients."""
    device = model.device
    cache: Cache = DynamicCache() if prefix is None else prefix
    known = cache.get_seq_length()
    shared = shared_length(prompts)
    if (len(prompts) - 1) * (shared - known) >= WORTH_A_PASS:
        run(model, torch.tensor([prompts[0][known:shared]], device=device), cache)
        known = shared
    rest = max(len(p) for p in prompts) - known
    if known and room is not None:
        cache = repeated(cache, len(prompts), rest + room)
    elif room is not None:
        cache = roomy(room)
    elif known:
        cache.batch_select_indices(torch.zeros(len(prompts), dtype=torch.long, device=device))
    ids = torch.tensor([[pad] * (rest + known - len(p)) + list(p[known:]) for p in prompts], device=device)
    lengths = torch.tensor([[len(p)] for p in prompts], device=device)
    places = torch.arange(known + rest, device=device)
    mask = ((places < known) | (places >= known + rest - (lengths - known))).long()
    return Prefilled(run(model, ids, cache, mask)[:, -1], cache, mask)


def join(parts: Sequence[Prefilled], room: int) -> Prefilled:
    """One batch of several, left-padded, their rows in order, with room for so many tokens more. The parts are used
    up."""
    if len(parts) == 1:
        return parts[0]
    width = max(part.mask.shape[1] for part in parts)
    gaps = [width - part.mask.shape[1] for part in parts]
    cache = stacked([part.cache for part in parts], gaps, room)
    mask = torch.cat([padded(part.mask, (gap, 0)) for part, gap in zip(parts, gaps, strict=True)])
    return Prefilled(torch.cat([part.logits for part in parts]), cache, mask)


def extend(model: Any, batch: Prefilled, parents: Sequence[int], tokens: Tensor, real: Tensor) -> Tensor:
    """Add `tokens` [C, K] (1 in `real` where they are no padding, which stands on the right) to the C
    sequences that `parents` selects. Returns what follows each of them, [C, K, V] float32, and leaves
    the batch standing behind them."""
    if list(parents) != list(range(len(batch.mask))):  # all as they stand: nothing need be copied
        chosen = torch.tensor(parents, device=tokens.device)
        batch.cache.batch_select_indices(chosen)
        batch.mask = batch.mask[chosen]
    batch.mask = torch.cat([batch.mask, real], dim=1)
    logits = run(model, tokens, batch.cache, batch.mask, keep=tokens.shape[1])
    batch.logits = logits[:, -1]
    return logits


def run(model: Any, ids: Tensor, cache: Cache, mask: Tensor | None = None, *, keep: int = 1) -> Tensor:
    """Run `ids` [B, K] behind what `cache` holds. `mask` [B, T] covers both (None: no padding). Returns float32
    logits [B, `keep`, V] behind the last tokens.

    Raises `GymposiumError` for a model whose layers keep something else than keys and values."""
    place, length = cache.get_seq_length(), ids.shape[1]
    if mask is None:
        positions = torch.arange(place, place + length, device=ids.device)[None]
    else:
        positions = (mask.cumsum(dim=1) - 1).clamp(min=0)[:, place:]
    layers = sliding(model)
    attention: Any = mask
    if layers is not None and place + length > layers.window:
        whole = ids.new_ones(len(ids), place + length) if mask is None else mask
        attention = windowed(model, layers, whole, length)
    out = model(
        input_ids=ids,
        attention_mask=attention,
        position_ids=positions,
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=keep,
    )
    logits: Tensor = out.logits.float()
    return logits


def fill(model: Any, prompts: Sequence[Tokens], pad: int, room: int) -> tuple[Prefilled, dict[Tokens, int]]:
    """The plainest `Fill`: all in one batch, in order, and open to gradients."""
    return prefill(model, prompts, pad), {prompt: row for row, prompt in enumerate(prompts)}


def completion_logits(
    model: Any, pairs: Sequence[tuple[Tokens, Tokens]], pad: int, filled: Fill = fill
) -> tuple[Tensor, Tensor, Tensor]:
    """Teacher forcing for C distinct (prompt, completion) pairs: logits [C, L, V] that predict each
    completion token, the tokens [C, L], and a mask [C, L] that is 1 on real ones."""
    length = max(len(completion) for _, completion in pairs)
    batch, place = filled(model, list(dict.fromkeys(prompt for prompt, _ in pairs)), pad, length)
    device = batch.logits.device
    parents = [place[prompt] for prompt, _ in pairs]
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


def chunked(pairs: Sequence[tuple[Tokens, Tokens]], budget: int, predicted: int | None = None) -> Iterator[list[int]]:
    """Indices of distinct pairs in chunks of at most `budget` padded tokens, and `predicted` of them in completions
    (and at least one pair). Pairs with equal prompts, and prompts with long common beginnings, stand together."""
    most = budget if predicted is None else predicted
    order = sorted(range(len(pairs)), key=lambda i: pairs[i])
    chunk: list[int] = []
    prompts = longest_prompt = longest = 0
    last: Tokens | None = None
    for i in order:
        prompt, completion = pairs[i]
        more = prompts + (prompt != last)
        wide, deep = max(longest_prompt, len(prompt)), max(longest, len(completion))
        width = (len(chunk) + 1) * deep
        if chunk and (more * wide + width > budget or width > most):
            yield chunk
            chunk, more, wide, deep = [], 1, len(prompt), len(completion)
        chunk.append(i)
        prompts, longest_prompt, longest, last = more, wide, deep, prompt
    if chunk:
        yield chunk


def shared_length(prompts: Sequence[Tokens]) -> int:
    """How many tokens all prompts begin with, at most all but the last of the shortest."""
    first, last = min(prompts), max(prompts)
    most = min(len(p) for p in prompts) - 1
    for i in range(most):
        if first[i] != last[i]:
            return i
    return most
