"""How sequences of tokens go through a model: three layouts that give the same hidden states and the same gradients.

`shared`  what sequences begin with alike is run once (`gymposium_agents.forward`): fastest for games, whose prompts
          repeat; keeps key-value caches, so there is no gradient checkpointing
`padded`  one row each, padded on the right to the longest
`packed`  behind each other in one row, each with positions from 0; attention stays inside each (transformers makes
          the mask from the positions)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gymposium_agents.forward import Tokens, chunked, completion_logits
from gymposium_train.learner.trunk import Trunk


@dataclass(frozen=True, slots=True)
class TokenSequence:
    """Tokens, and the places among them that are to be predicted, ascending, from 1 on. The place behind the last
    token, where the next one would stand, is predicted alone or not at all."""

    ids: Tokens
    places: tuple[int, ...]


Layout = Callable[[Trunk, Sequence[TokenSequence], int], Tensor]
"""Runs sequences; returns the hidden states [N, H] that predict the N places, sequence by sequence."""


def shared(trunk: Trunk, sequences: Sequence[TokenSequence], pad: int) -> Tensor:
    pairs = [_pair(one) for one in sequences]
    states, _, _ = completion_logits(trunk, pairs, pad)
    width = states.shape[1]
    flat = [
        row * width + place - len(prompt)
        for row, (one, (prompt, _)) in enumerate(zip(sequences, pairs, strict=True))
        for place in one.places
    ]
    return states.flatten(0, 1)[torch.tensor(flat, device=states.device)]


def padded(trunk: Trunk, sequences: Sequence[TokenSequence], pad: int) -> Tensor:
    width = max(len(one.ids) for one in sequences)
    ids = torch.tensor([[*one.ids, *[pad] * (width - len(one.ids))] for one in sequences], device=trunk.device)
    lengths = torch.tensor([len(one.ids) for one in sequences], device=trunk.device)
    mask = (torch.arange(width, device=trunk.device) < lengths[:, None]).long()
    states = trunk(input_ids=ids, attention_mask=mask, use_cache=False).logits
    flat = [row * width + place - 1 for row, one in enumerate(sequences) for place in one.places]
    return states.flatten(0, 1)[torch.tensor(flat, device=states.device)]


def packed(trunk: Trunk, sequences: Sequence[TokenSequence], pad: int) -> Tensor:
    ids = torch.tensor([[token for one in sequences for token in one.ids]], device=trunk.device)
    positions = torch.cat([torch.arange(len(one.ids)) for one in sequences])[None].to(trunk.device)
    states = trunk(input_ids=ids, position_ids=positions, use_cache=False).logits[0]
    flat, begin = [], 0
    for one in sequences:
        flat += [begin + place - 1 for place in one.places]
        begin += len(one.ids)
    return states[torch.tensor(flat, device=states.device)]


LAYOUTS: dict[str, Layout] = {"shared": shared, "padded": padded, "packed": packed}


def microbatches(sequences: Sequence[TokenSequence], budget: int, layout: str) -> Iterator[list[int]]:
    """Indices of the sequences in micro-batches of at most `budget` tokens, padding counted (and at least one
    sequence), those that go well together side by side."""
    if layout == "shared":
        yield from chunked([_pair(one) for one in sequences], budget)
        return
    order = sorted(range(len(sequences)), key=lambda i: len(sequences[i].ids))
    batch: list[int] = []
    used = 0
    for i in order:
        length = len(sequences[i].ids)
        size = used + length if layout == "packed" else (len(batch) + 1) * length
        if batch and size > budget:
            yield batch
            batch, used = [], 0
        batch.append(i)
        used += length
    if batch:
        yield batch


def _pair(one: TokenSequence) -> tuple[Tokens, Tokens]:
    """What is given before the first predicted place, and the rest."""
    first = one.places[0]
    return one.ids[:first], one.ids[first:]
