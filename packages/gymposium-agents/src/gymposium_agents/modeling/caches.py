"""Key-value caches with preallocated memory for sampling, and their memory use.

The keys and values of a new token are appended in place, whereas transformers' `DynamicCache` copies the whole cache
for each token. Gradients do not flow through these caches, because memory is written in place.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, DynamicLayer

CACHE_SHARE = 0.25
"""Maximum share of a device's memory for the keys and values of one batch."""


def get_device_memory(device: torch.device) -> int:
    """Return the memory in bytes of a GPU, or of this machine within this process's control group."""
    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory)
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = Path("/sys/fs/cgroup/memory.max")
    text = limit.read_text(encoding="ascii").strip() if limit.is_file() else "max"
    return machine if text == "max" else min(machine, int(text))


def compute_bytes_per_token(architecture: Any, dtype: torch.dtype) -> int:
    """Return the memory in bytes of one token's keys and values, in all layers of an architecture (a transformers
    config)."""
    config = architecture.get_text_config(decoder=True)
    heads = config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    keys = getattr(config, "num_key_value_heads", None) or heads
    return 2 * int(config.num_hidden_layers * keys * size) * dtype.itemsize


class PreallocatedLayer(DynamicLayer):  # type: ignore[no-untyped-call]
    """The keys and values of one layer, [B, heads, T, size], with spare memory for `spare` more tokens."""

    def __init__(self, spare: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.spare = spare
        self._memory: tuple[Tensor, ...] = ()

    def places(self, more: int) -> int:
        """Return the number of tokens per row that the memory can hold after `more` tokens are appended."""
        place, held = self.get_seq_length(), self._memory[0].shape[2]
        return held if place + more <= held else place + max(more, self.spare)

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        place, more = self.get_seq_length(), key_states.shape[2]
        if not self.is_initialized or place + more > self._memory[0].shape[2]:
            before: tuple[Any, Any] = (self.keys, self.values)
            self.hold(
                [before if place else (key_states[:, :, :0], value_states[:, :, :0])], [0], spare=max(more, self.spare)
            )
        for memory, states in zip(self._memory, (key_states, value_states), strict=True):
            memory[:, :, place : place + more] = states
        return self._show(place + more)

    def batch_select_indices(self, indices: Tensor) -> None:
        self._memory = tuple(memory[indices] for memory in self._memory)
        self._show(self.get_seq_length())

    def hold(
        self, parts: Sequence[tuple[Any, Any]], gaps: Sequence[int], *, spare: int, rows: int | None = None
    ) -> None:
        """Copy the keys and values of several parts of a batch, each after a gap of padding. With `rows`, there is a
        single part with one row, which is repeated that many times."""
        key, value = parts[0]
        length, batch = gaps[0] + key.shape[2], rows or sum(len(keys) for keys, _ in parts)
        self.dtype, self.device, self.is_initialized = key.dtype, key.device, True
        self._memory = tuple(
            part.new_empty(batch, part.shape[1], length + spare, part.shape[3]) for part in (key, value)
        )
        for memory, states in zip(self._memory, zip(*parts, strict=True), strict=True):
            row = 0
            for gap, part in zip(gaps, states, strict=True):
                below = rows or row + len(part)
                memory[row:below, :, :gap] = 0.0  # masked, but an attention weight of 0 times NaN is NaN
                memory[row:below, :, gap:length] = part
                row = below
        self._show(length)

    def _show(self, length: int) -> tuple[Tensor, Tensor]:
        keys, values = (memory[:, :, :length] for memory in self._memory)
        self.keys, self.values = keys, values
        return keys, values


def make_preallocated_cache(spare: int) -> Cache:
    """Make an empty cache whose memory grows by at least `spare` tokens."""
    return Cache(layer_class_to_replicate=partial(PreallocatedLayer, spare))  # type: ignore[arg-type]


def stack_caches(caches: Sequence[Cache], gaps: Sequence[int], spare: int, rows: int | None = None) -> Cache:
    """Make one cache for the rows of several, each after a gap of padding, with spare memory for `spare` more tokens.
    With `rows`, there is a single cache with one row, which is repeated that many times."""
    made: list[Any] = []
    parts: list[Any] = [cache.layers for cache in caches]
    for layers in zip(*parts, strict=True):
        layer = PreallocatedLayer(spare)
        layer.hold([(part.keys, part.values) for part in layers], gaps, spare=spare, rows=rows)
        made.append(layer)
    return Cache(layers=made)
