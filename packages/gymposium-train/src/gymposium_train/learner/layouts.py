"""Layouts: three ways to run sequences of tokens through a model, with the same hidden states and gradients.

`shared`  common prefixes run once (`gymposium_agents.modeling.forward`): fastest for games, whose prompts repeat;
          key-value caches are kept, so gradient checkpointing is not possible. Few sequences run `padded`, because the
          additional passes would take longer than the tokens that they save.
`padded`  one row per sequence, padded on the right to the longest
`packed`  all sequences in one row, each with positions from 0 and attention only to itself
          (`gymposium_train.learner.attention`). Architectures that do not support this, such as OPT, run `padded`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

import torch
from torch import Tensor

from gymposium_agents.modeling.forward import (
    Tokens,
    compute_completion_logits,
    count_shared_tokens,
    pad_right,
    split_into_chunks,
)
from gymposium_agents.modeling.last_layer import select_places
from gymposium_train.learner.rows import Row
from gymposium_train.learner.trunk import Trunk

WORTH_SHARING = 700
"""Minimum number of tokens saved by running common prefixes once: about the fixed cost of two more passes with
gradients, in tokens of a small model on a CPU."""
Layout = Callable[[Trunk, Sequence[Row], int], Tensor]
"""Runs sequences, and returns the hidden states [N, H] that predict the N places, sequence by sequence."""


def run_shared(trunk: Trunk, sequences: Sequence[Row], pad: int) -> Tensor:
    pairs = [_split_sequence(sequence) for sequence in sequences]
    if _count_saved_tokens(pairs) < WORTH_SHARING:
        return run_padded(trunk, sequences, pad)
    # the first place of a sequence follows its prompt
    later = [
        tuple(place - len(prompt) - 1 for place in sequence.places[1:])
        for sequence, (prompt, _) in zip(sequences, pairs, strict=True)
    ]
    places, _ = pad_right(later, 0, trunk.device)
    states, _, _ = compute_completion_logits(trunk, pairs, pad, places=places)
    width = states.shape[1]
    flat = [row * width + number for row, sequence in enumerate(sequences) for number in range(len(sequence.places))]
    return states.flatten(0, 1)[torch.tensor(flat, device=states.device)]


def _count_saved_tokens(pairs: Sequence[tuple[Tokens, Tokens]]) -> int:
    """Return how many tokens, including padding, two more passes save: one for the common prefix of the prompts, and
    one for the tokens after each prompt."""
    prompts = {prompt for prompt, _ in pairs}
    prefix, longest = count_shared_tokens([*prompts]), max(map(len, prompts))
    after = max(len(completion) for _, completion in pairs) - 1
    shared = prefix + len(prompts) * (longest - prefix) + len(pairs) * after
    return len(pairs) * max(len(prompt) + len(completion) for prompt, completion in pairs) - shared


def run_padded(trunk: Trunk, sequences: Sequence[Row], pad: int) -> Tensor:
    # no mask: causal attention never reads padding on the right
    ids, _ = pad_right([sequence.ids for sequence in sequences], pad, trunk.device)
    width = ids.shape[1]
    before = [[place - 1 for place in sequence.places] for sequence in sequences]
    places, _ = pad_right([*map(tuple, before)], 0, trunk.device)
    if selected := select_places(trunk, places):
        before, width = [[*range(len(some))] for some in before], places.shape[1]
    states = trunk(input_ids=ids, use_cache=False, **selected).logits
    flat = [row * width + place for row, some in enumerate(before) for place in some]
    return states.flatten(0, 1)[torch.tensor(flat, device=states.device)]


def run_packed(trunk: Trunk, sequences: Sequence[Row], pad: int) -> Tensor:
    ids = torch.tensor([token for sequence in sequences for token in sequence.ids], device=trunk.device)
    lengths = [len(sequence.ids) for sequence in sequences]
    states = trunk.packed(ids, lengths)
    starts = accumulate(lengths, initial=0)
    flat = [start + place - 1 for start, sequence in zip(starts, sequences) for place in sequence.places]
    return states[torch.tensor(flat, device=states.device)]


LAYOUTS: dict[str, Layout] = {"shared": run_shared, "padded": run_padded, "packed": run_packed}


def make_microbatches(sequences: Sequence[Row], budget: int, layout: str) -> Iterator[list[int]]:
    """Group the sequences' indices into micro-batches of at most `budget` tokens including padding, or of one sequence.
    Sequences with common prefixes or of similar length share a micro-batch."""
    if layout == "shared":
        yield from split_into_chunks([_split_sequence(sequence) for sequence in sequences], budget)
        return
    batch: list[int] = []
    used = 0
    for i in sorted(range(len(sequences)), key=lambda i: len(sequences[i].ids)):
        length = len(sequences[i].ids)
        size = used + length if layout == "packed" else (len(batch) + 1) * length
        if batch and size > budget:
            yield batch
            batch, used = [], 0
        batch.append(i)
        used += length
    if batch:
        yield batch


def _split_sequence(sequence: Row) -> tuple[Tokens, Tokens]:
    """Split a sequence's tokens before the first predicted place."""
    first = sequence.spans[0].start
    return sequence.ids[:first], sequence.ids[first:]
