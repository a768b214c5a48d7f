"""Layouts: three ways to run sequences of tokens through a model, with the same hidden states and gradients.

`shared`  common prefixes run once (`gymposium_agents.modeling.forward`): fastest for games, whose prompts repeat;
          key-value caches are kept, so gradient checkpointing is not possible
`padded`  one row per sequence, padded on the right to the longest
`packed`  all sequences in one row, each with positions from 0 and attention only to itself
          (`gymposium_train.learner.attention`). Architectures that do not support this, such as OPT, run `padded`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

import torch
from torch import Tensor

from gymposium_agents.modeling.forward import Tokens, compute_completion_logits, pad_right, split_into_chunks
from gymposium_train.learner.rows import Row
from gymposium_train.learner.trunk import Trunk

Layout = Callable[[Trunk, Sequence[Row], int], Tensor]
"""Runs sequences, and returns the hidden states [N, H] that predict the N places, sequence by sequence."""


def run_shared(trunk: Trunk, sequences: Sequence[Row], pad: int) -> Tensor:
    pairs = [_split_sequence(sequence) for sequence in sequences]
    states, _, _ = compute_completion_logits(trunk, pairs, pad)
    width = states.shape[1]
    flat = [
        row * width + place - len(prompt)
        for row, (sequence, (prompt, _)) in enumerate(zip(sequences, pairs, strict=True))
        for place in sequence.places
    ]
    return states.flatten(0, 1)[torch.tensor(flat, device=states.device)]


def run_padded(trunk: Trunk, sequences: Sequence[Row], pad: int) -> Tensor:
    # no mask: causal attention never reads padding on the right
    ids, _ = pad_right([sequence.ids for sequence in sequences], pad, trunk.device)
    width = ids.shape[1]
    states = trunk(input_ids=ids, use_cache=False).logits
    flat = [row * width + place - 1 for row, sequence in enumerate(sequences) for place in sequence.places]
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
