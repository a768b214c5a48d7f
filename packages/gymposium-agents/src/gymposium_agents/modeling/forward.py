"""Forward passes that run shared tokens once: first the common prefix of a batch's prompts, then each distinct prompt,
then the tokens after it.

Prompts of games repeat most of their tokens: the rules are always the same, and the empty board is in every match.
Nothing is approximated. The shared prefix has one key-value cache, which is expanded or selected. Gradients flow
through both operations. Prompts are left-padded after the shared prefix.

Padding may occur in the middle of a row, so sliding windows are counted in positions, not in cache slots. For sequences
longer than the window, the model gets masks from `gymposium_agents.modeling.windows`, and the cache keeps all tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.nn.functional import pad as padded
from transformers.cache_utils import Cache, DynamicCache

from gymposium_agents.modeling.caches import make_preallocated_cache, stack_caches
from gymposium_agents.modeling.last_layer import select_places
from gymposium_agents.modeling.windows import find_sliding_window, has_grouped_heads, make_window_mask

T = TypeVar("T")

Tokens = tuple[int, ...]

WORTH_A_PASS = 32
"""Minimum number of tokens saved by running a batch's common prefix in a separate forward pass."""
WORTH_A_GROUP = 256
"""Minimum number of tokens saved by running a part of a batch separately: about the fixed cost of its passes, in
tokens."""


@dataclass(slots=True)
class PrefilledBatch:
    """A batch of B sequences with their tokens in a cache."""

    logits: Tensor
    """Logits of the next token, [B, V], float32."""
    cache: Cache
    """Keys and values of the T cached positions."""
    mask: Tensor
    """Mask of the cached positions, [B, T]: 1 at tokens, 0 at padding."""


Fill = Callable[[Any, Sequence[Tokens], int, int], tuple[PrefilledBatch, dict[Tokens, int]]]
"""A function that runs distinct prompts through a model: (model, prompts, padding id, spare tokens). Returns the batch,
and the row of each prompt."""


def prefill(
    model: Any, prompts: Sequence[Tokens], pad: int, *, prefix: Cache | None = None, spare: int | None = None
) -> PrefilledBatch:
    """Run B distinct prompts, with their common prefix run once. `prefix` is an optional cache of one row, with the
    keys and values of tokens that begin all prompts. It must not be used afterwards. With `spare`, memory for that many
    further tokens is preallocated, so that the batch grows faster. The batch then has no gradients."""
    device = model.device
    cache: Cache = DynamicCache() if prefix is None else prefix
    known = cache.get_seq_length()
    shared = count_shared_tokens(prompts)
    if (len(prompts) - 1) * (shared - known) >= WORTH_A_PASS:
        run_forward(model, torch.tensor([prompts[0][known:shared]], device=device), cache)
        known = shared
    rest = max(len(p) for p in prompts) - known
    if known and spare is not None:
        cache = stack_caches([cache], [0], rest + spare, rows=len(prompts))
    elif spare is not None:
        cache = make_preallocated_cache(spare)
    elif known:
        cache.batch_select_indices(torch.zeros(len(prompts), dtype=torch.long, device=device))
    ids = torch.tensor([[pad] * (rest + known - len(p)) + list(p[known:]) for p in prompts], device=device)
    lengths = torch.tensor([[len(p)] for p in prompts], device=device)
    places = torch.arange(known + rest, device=device)
    mask = ((places < known) | (places >= known + rest - (lengths - known))).long()
    return PrefilledBatch(run_forward(model, ids, cache, mask)[:, -1], cache, mask)


def join_batches(parts: Sequence[PrefilledBatch], spare: int) -> PrefilledBatch:
    """Merge the rows of several batches, in order and left-padded, with spare memory for `spare` more tokens. The parts
    must not be used afterwards."""
    if len(parts) == 1:
        return parts[0]
    width = max(part.mask.shape[1] for part in parts)
    gaps = [width - part.mask.shape[1] for part in parts]
    cache = stack_caches([part.cache for part in parts], gaps, spare)
    mask = torch.cat([padded(part.mask, (gap, 0)) for part, gap in zip(parts, gaps, strict=True)])
    return PrefilledBatch(torch.cat([part.logits for part in parts]), cache, mask)


def extend_batch(
    model: Any,
    batch: PrefilledBatch,
    parents: Sequence[int],
    tokens: Tensor,
    real: Tensor,
    places: Tensor | None = None,
) -> Tensor:
    """Append `tokens` [C, K] to the C sequences of `batch` selected by `parents`. `real` [C, K] is 1 at tokens and 0 at
    padding, which is on the right. Returns the logits after each token, [C, K, V] float32, or after the tokens at
    `places` [C, P]. The batch then contains the C longer sequences."""
    if list(parents) != list(range(len(batch.mask))):  # else nothing needs to be copied
        chosen = torch.tensor(parents, device=tokens.device)
        batch.cache.batch_select_indices(chosen)
        batch.mask = batch.mask[chosen]
    batch.mask = torch.cat([batch.mask, real], dim=1)
    if places is None:
        places = torch.arange(tokens.shape[1], device=tokens.device)
    logits = run_forward(model, tokens, batch.cache, batch.mask, places)
    batch.logits = logits[:, -1]
    return logits


def run_forward(
    model: Any, ids: Tensor, cache: Cache, mask: Tensor | None = None, places: Tensor | None = None
) -> Tensor:
    """Run `ids` [B, K] after the tokens in `cache`. `mask` [B, T] covers the cached tokens and `ids`. None means no
    padding. Returns float32 logits [B, P, V] after the ids at `places` [P] or [B, P], by default after the last one.

    Raises `GymposiumError` for a model whose layers cache anything other than keys and values."""
    place, length = cache.get_seq_length(), ids.shape[1]
    if mask is None:
        positions = torch.arange(place, place + length, device=ids.device)[None]
    else:
        positions = (mask.cumsum(dim=1) - 1).clamp(min=0)[:, place:]
    layers = find_sliding_window(model)
    attention: Any = mask
    if layers is not None and place + length > layers.window:
        everything = ids.new_ones(len(ids), place + length) if mask is None else mask
        attention = make_window_mask(model, layers, everything, length)
    elif length == 1 and mask is not None and model.device.type == "cpu" and has_grouped_heads(model):
        # without a mask, transformers leaves the groups to PyTorch, whose 16-bit kernel is five times as slow
        attention = mask.bool()[:, None, None]
    if places is None:
        places = torch.tensor([length - 1], device=ids.device)
    selected = select_places(model, places) if places.shape[-1] < length else {}
    # indices, because a slice is not contiguous: `linear` would copy frozen head weights for each row
    kept = torch.arange(places.shape[-1] if selected else length, device=ids.device)
    one_for_all = places.dim() == 1
    out = model(
        input_ids=ids,
        attention_mask=attention,
        position_ids=positions,
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=places if one_for_all and not selected else kept,
        **selected,
    )
    logits: Tensor = out.logits.float()
    return logits if one_for_all or selected else logits[torch.arange(len(ids), device=ids.device)[:, None], places]


def fill_batch(model: Any, prompts: Sequence[Tokens], pad: int, spare: int) -> tuple[PrefilledBatch, dict[Tokens, int]]:
    """Run all prompts in one batch, in order, with gradients. This is the simplest `Fill`."""
    return prefill(model, prompts, pad), {prompt: row for row, prompt in enumerate(prompts)}


def compute_completion_logits(
    model: Any,
    pairs: Sequence[tuple[Tokens, Tokens]],
    pad: int,
    filled: Fill = fill_batch,
    places: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Run teacher forcing for C distinct (prompt, completion) pairs. Returns the logits [C, L, V] that predict each
    completion token, the tokens [C, L], and a mask [C, L] that is 1 at tokens and 0 at padding. With `places` [C, P],
    the logits [C, 1 + P, V] are only those that predict the first token and the ones after these completion tokens."""
    length = max(len(completion) for _, completion in pairs)
    batch, place = filled(model, list(dict.fromkeys(prompt for prompt, _ in pairs)), pad, length)
    parents = [place[prompt] for prompt, _ in pairs]
    tokens, mask = pad_right([completion for _, completion in pairs], pad, batch.logits.device)
    logits = batch.logits[parents][:, None]
    if length > 1:
        later = extend_batch(model, batch, parents, tokens[:, :-1], mask[:, :-1], places)
        logits = torch.cat([logits, later], dim=1)
    return logits, tokens, mask


def pad_right(sequences: Sequence[Tokens], pad: int, device: Any) -> tuple[Tensor, Tensor]:
    """Return the C sequences as one tensor [C, L], and a mask [C, L] that is 1 at tokens and 0 at padding."""
    width = max(map(len, sequences))
    ids = torch.tensor([[*one, *[pad] * (width - len(one))] for one in sequences], device=device)
    lengths = torch.tensor([len(one) for one in sequences], device=device)
    return ids, (torch.arange(width, device=device) < lengths[:, None]).long()


def split_into_chunks(
    pairs: Sequence[tuple[Tokens, Tokens]], budget: int, predicted: int | None = None
) -> Iterator[list[int]]:
    """Yield indices of distinct (prompt, completion) pairs in chunks of at most `budget` padded tokens. At most
    `predicted` of these tokens (default: `budget`) are in completions. A chunk has at least one pair. Pairs with equal
    prompts, and prompts with long common prefixes, share a chunk if possible. Prompts or completions of different
    length are in different chunks."""
    most = budget if predicted is None else predicted
    members: dict[Tokens, list[int]] = {}
    for i, (prompt, _) in enumerate(pairs):
        members.setdefault(prompt, []).append(i)
    deepest = {prompt: max(len(pairs[i][1]) for i in some) for prompt, some in members.items()}
    for wide in group_by_length(members, len):
        for alike in group_by_length(wide, deepest.__getitem__):
            order = sorted((i for prompt in alike for i in members[prompt]), key=lambda i: pairs[i])
            yield from _split_in_order(pairs, order, budget, most)


def _split_in_order(
    pairs: Sequence[tuple[Tokens, Tokens]], order: list[int], budget: int, most: int
) -> Iterator[list[int]]:
    """Divide sorted pairs into chunks, like `split_into_chunks`."""
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
    yield chunk


def group_by_length(items: Iterable[T], length: Callable[[T], int]) -> Iterator[list[T]]:
    """Divide items by length, so that each part is padded by less than `WORTH_A_GROUP` tokens or an eighth of its
    length."""
    part: list[T] = []
    tokens = 0
    for item in sorted(items, key=length):
        padding = len(part) * length(item) - tokens
        if part and padding >= max(WORTH_A_GROUP, tokens // 8):
            yield part
            part, tokens = [], 0
        part.append(item)
        tokens += length(item)
    if part:
        yield part


def count_shared_tokens(prompts: Sequence[Tokens]) -> int:
    """Return the length of the common prefix of all prompts, excluding the last token of the shortest prompt."""
    first, last = min(prompts), max(prompts)
    most = min(map(len, prompts)) - 1
    return next((i for i in range(most) if first[i] != last[i]), most)
