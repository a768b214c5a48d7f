"""Beginnings that prompts share, prefilled once for each set of weights: the rules of a game are read once, not once
a turn.

Which beginnings are worth it is read off the prompts that are asked together. A beginning is kept in blocks of tokens,
each computed alone behind the blocks before it, and the plan for a batch depends on its prompts only. So whether a
block was there already changes no bit of what follows.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from gymposium_agents.forward import Prefilled, Tokens, join, prefill, run, shared_length
from gymposium_agents.tokens import Policy

BLOCK = 32
"""Tokens in a block."""
WORTH_A_GROUP = 256
"""Tokens that must be saved for prompts to be run apart from the others: about what a forward pass costs beside its
tokens."""
FEW = 4
"""In so small a batch a prompt's own beginning is kept as well: the next turn of the same match may begin with it."""

Block = list[tuple[Tensor, Tensor]]
"""Keys and values of a block's tokens, [1, heads, BLOCK, size], for each layer."""


@dataclass(frozen=True, slots=True)
class Group:
    """Prompts that are run together."""

    prompts: list[Tokens]
    prefix: int
    """So many tokens they all begin with, in whole blocks, and at most all but the last."""


def plan(prompts: Sequence[Tokens], capacity: int) -> list[Group]:
    """Distinct prompts in groups with a common beginning; the beginnings have at most `capacity` tokens together."""
    groups: list[Group] = []
    room = capacity
    for part, prefix in _split(sorted(prompts), 0, few=len(prompts) <= FEW):
        if prefix > room:
            prefix = 0
        room -= prefix
        groups += [Group(alike, prefix) for alike in _of_like_length(part)]
    return groups


def _split(prompts: list[Tokens], depth: int, *, few: bool) -> Iterator[tuple[list[Tokens], int]]:
    """Parts of sorted `prompts`, which have `depth` tokens in common, and how many each has in common: a part
    goes its own way where enough of its prompts share enough."""
    depth = max(depth, _whole_blocks(prompts))
    together: list[Tokens] = []
    for _, same in groupby(prompts, key=lambda prompt: prompt[depth : depth + BLOCK]):
        part = list(same)
        saved = len(part) * (_whole_blocks(part) - depth)
        if (len(part) > 1 or few) and saved >= WORTH_A_GROUP and len(part) < len(prompts):
            yield from _split(part, depth, few=few)
        else:
            together += part
    if together:
        yield together, depth


def _whole_blocks(prompts: list[Tokens]) -> int:
    return shared_length(prompts) // BLOCK * BLOCK


def _of_like_length(prompts: list[Tokens]) -> Iterator[list[Tokens]]:
    """Parts that are not padded much: they are cut where the shorter ones would be."""
    ordered = sorted(prompts, key=len)
    part: list[Tokens] = []
    for prompt in ordered:
        if part and len(part) * (len(prompt) - len(part[-1])) >= WORTH_A_GROUP:
            yield part
            part = []
        part.append(prompt)
    yield part


class PrefixCache:
    """Keys and values of the beginnings that were used last, by the weights that made them."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        """Tokens that are kept at most."""
        self._blocks: OrderedDict[tuple[Policy, Tokens], Block] = OrderedDict()

    def __len__(self) -> int:
        """Tokens that are kept."""
        return BLOCK * len(self._blocks)

    def fill(
        self, policy: Policy, model: Any, prompts: Sequence[Tokens], pad: int, room: int
    ) -> tuple[Prefilled, dict[Tokens, int]]:
        """Run distinct prompts with what is known of their beginnings (a `Fill`, for one policy). The model must
        answer as `policy`."""
        groups = plan(prompts, self.capacity)
        parts = [
            prefill(model, group.prompts, pad, prefix=self._prefix(model, policy, group), room=room) for group in groups
        ]
        order = [prompt for group in groups for prompt in group.prompts]
        return join(parts, room), {prompt: row for row, prompt in enumerate(order)}

    def drop(self, policy: Policy | None = None) -> None:
        """Forget what these weights made, or everything."""
        for key in [key for key in self._blocks if policy is None or key[0] == policy]:
            del self._blocks[key]

    def _prefix(self, model: Any, policy: Policy, group: Group) -> DynamicCache | None:
        if group.prefix == 0:
            return None
        tokens = group.prompts[0][: group.prefix]
        keys = [(policy, tokens[:end]) for end in range(BLOCK, len(tokens) + 1, BLOCK)]
        known: list[Block] = []
        for key in keys:
            block = self._blocks.get(key)
            if block is None:
                break
            known.append(block)
        cache = _cache_of(known)
        for key in keys[len(known) :]:
            ids = torch.tensor([key[1][-BLOCK:]], device=model.device)
            run(model, ids, cache)
            layers: list[Any] = cache.layers
            self._blocks[key] = [(one.keys[:, :, -BLOCK:].clone(), one.values[:, :, -BLOCK:].clone()) for one in layers]
        for key in reversed(keys):  # the first block last: without it the others could not be found
            self._blocks.move_to_end(key)
        while len(self) > self.capacity:
            self._blocks.popitem(last=False)
        return cache


def _cache_of(blocks: list[Block]) -> DynamicCache:
    if not blocks:
        return DynamicCache()
    layers = [
        (torch.cat([k for k, _ in states], dim=2), torch.cat([v for _, v in states], dim=2))
        for states in zip(*blocks, strict=True)
    ]
    return DynamicCache(layers)
