"""Cache of shared prompt prefixes, prefilled once per set of weights: the rules of a game are read once, not once per
turn.

The prompts of a batch determine which prefixes are cached. A prefix is stored in blocks of tokens, each computed
separately after the blocks before it. The plan for a batch depends only on its prompts. Results are therefore bitwise
the same whether or not a block was cached.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from gymposium_agents.chat.tokens import Policy
from gymposium_agents.modeling.forward import (
    WORTH_A_GROUP,
    PrefilledBatch,
    Tokens,
    count_shared_tokens,
    group_by_length,
    join_batches,
    prefill,
    run_forward,
)

BLOCK = 32
"""Number of tokens per block."""
PASS_TOKENS = 65_536
"""Maximum number of tokens in a pass that prefills several prompts."""
FEW = 4
"""A batch of at most this many prompts also caches single prompts, because the next turn of a match may begin with
one."""

Block = list[tuple[Tensor, Tensor]]
"""Keys and values of a block's tokens, [1, heads, BLOCK, size], for each layer."""


@dataclass(frozen=True, slots=True)
class Group:
    """Prompts run in one forward pass."""

    prompts: list[Tokens]
    prefix: int
    """Length of the prompts' common prefix in tokens: whole blocks, without the last token of a prompt."""


def plan_groups(prompts: Sequence[Tokens], capacity: int) -> list[Group]:
    """Divide distinct prompts into groups with a common prefix. The prefixes have at most `capacity` tokens in
    total."""
    groups: list[Group] = []
    space = capacity
    for part, prefix in _split(sorted(prompts), 0, few=len(prompts) <= FEW):
        if prefix > space:
            prefix = 0
        space -= prefix
        for alike in group_by_length(part, len):
            size = max(1, PASS_TOKENS // len(alike[-1]))
            groups += [Group(alike[first : first + size], prefix) for first in range(0, len(alike), size)]
    return groups


def _split(prompts: list[Tokens], depth: int, *, few: bool) -> Iterator[tuple[list[Tokens], int]]:
    """Divide sorted `prompts` that share `depth` tokens into groups, and yield each with its number of shared tokens. A
    group is worth it if it saves `WORTH_A_GROUP` tokens."""
    depth = max(depth, _count_whole_blocks(prompts))
    together: list[Tokens] = []
    for _, same in groupby(prompts, key=lambda prompt: prompt[depth : depth + BLOCK]):
        part = list(same)
        saved = len(part) * (_count_whole_blocks(part) - depth)
        if (len(part) > 1 or few) and saved >= WORTH_A_GROUP and len(part) < len(prompts):
            yield from _split(part, depth, few=few)
        else:
            together += part
    if together:
        yield together, depth


def _count_whole_blocks(prompts: list[Tokens]) -> int:
    return count_shared_tokens(prompts) // BLOCK * BLOCK


class PrefixCache:
    """Keys and values of the most recently used prefixes, by policy."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        """Maximum number of tokens in the cache."""
        self._blocks: OrderedDict[tuple[Policy, Tokens], Block] = OrderedDict()

    def __len__(self) -> int:
        """Return the number of tokens in the cache."""
        return BLOCK * len(self._blocks)

    def fill(
        self, policy: Policy, model: Any, prompts: Sequence[Tokens], pad: int, spare: int
    ) -> tuple[PrefilledBatch, dict[Tokens, int]]:
        """Prefill distinct prompts with the cached prefixes (a `Fill`, for one policy). The model must answer as
        `policy`."""
        groups = plan_groups(prompts, self.capacity)
        parts = [
            prefill(model, group.prompts, pad, prefix=self._load_prefix(model, policy, group), spare=spare)
            for group in groups
        ]
        order = [prompt for group in groups for prompt in group.prompts]
        return join_batches(parts, spare), {prompt: row for row, prompt in enumerate(order)}

    def drop(self, policy: Policy | None = None) -> None:
        """Drop the blocks of one policy, or all blocks."""
        for key in [key for key in self._blocks if policy is None or key[0] == policy]:
            del self._blocks[key]

    def _load_prefix(self, model: Any, policy: Policy, group: Group) -> DynamicCache | None:
        if group.prefix == 0:
            return None
        tokens = group.prompts[0][: group.prefix]
        keys = [(policy, tokens[:end]) for end in range(BLOCK, len(tokens) + 1, BLOCK)]
        known = [self._blocks[key] for key in takewhile(self._blocks.__contains__, keys)]
        cache = _build_cache(known)
        for key in keys[len(known) :]:
            ids = torch.tensor([key[1][-BLOCK:]], device=model.device)
            run_forward(model, ids, cache)
            layers: list[Any] = cache.layers
            self._blocks[key] = [(kv.keys[:, :, -BLOCK:].clone(), kv.values[:, :, -BLOCK:].clone()) for kv in layers]
        for key in reversed(keys):  # the first block is dropped last, because the others are only found after it
            self._blocks.move_to_end(key)
        while len(self) > self.capacity:
            self._blocks.popitem(last=False)
        return cache


def _build_cache(blocks: list[Block]) -> DynamicCache:
    """Return the cache with the keys and values of consecutive blocks. Empty without blocks."""
    layers = [
        (torch.cat([k for k, _ in states], dim=2), torch.cat([v for _, v in states], dim=2))
        for states in zip(*blocks, strict=True)
    ]
    return DynamicCache(layers)
