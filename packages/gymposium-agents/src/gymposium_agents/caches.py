"""Key-value caches with room: a new token's keys and values are written behind the others, where transformers'
`DynamicCache` copies everything for each token. For sampling only: no gradient flows through what is written over.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from torch import Tensor
from transformers.cache_utils import Cache, DynamicLayer


class RoomyLayer(DynamicLayer):  # type: ignore[no-untyped-call]
    """One layer's keys and values, [B, heads, T, size], at the beginning of memory that holds `room` tokens more."""

    def __init__(self, room: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.room = room
        self._memory: tuple[Tensor, ...] = ()

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        place, more = self.get_seq_length(), key_states.shape[2]
        if not self.is_initialized or place + more > self._memory[0].shape[2]:
            known: tuple[Any, Any] = (self.keys, self.values)
            self.hold(
                [known if place else (key_states[:, :, :0], value_states[:, :, :0])], [0], room=max(more, self.room)
            )
        for memory, states in zip(self._memory, (key_states, value_states), strict=True):
            memory[:, :, place : place + more] = states
        return self._show(place + more)

    def batch_select_indices(self, indices: Tensor) -> None:
        self._memory = tuple(memory[indices] for memory in self._memory)
        self._show(self.get_seq_length())

    def hold(
        self, parts: Sequence[tuple[Any, Any]], gaps: Sequence[int], *, room: int, rows: int | None = None
    ) -> None:
        """Take the keys and values of several parts of a batch, each behind a gap of padding; with `rows`, of one row
        that is repeated so often."""
        key, value = parts[0]
        length, batch = gaps[0] + key.shape[2], rows or sum(len(keys) for keys, _ in parts)
        self.dtype, self.device, self.is_initialized = key.dtype, key.device, True
        self._memory = tuple(one.new_empty(batch, one.shape[1], length + room, one.shape[3]) for one in (key, value))
        for memory, states in zip(self._memory, zip(*parts, strict=True), strict=True):
            row = 0
            for gap, one in zip(gaps, states, strict=True):
                below = rows or row + len(one)
                memory[row:below, :, :gap] = 0.0  # masked, but a weight of 0 times what is not a number is not 0
                memory[row:below, :, gap:length] = one
                row = below
        self._show(length)

    def _show(self, length: int) -> tuple[Tensor, Tensor]:
        keys, values = (memory[:, :, :length] for memory in self._memory)
        self.keys, self.values = keys, values
        return keys, values


def roomy(room: int) -> Cache:
    """An empty cache."""
    return Cache(layer_class_to_replicate=partial(RoomyLayer, room))  # type: ignore[arg-type]


def repeated(cache: Cache, rows: int, room: int) -> Cache:
    """A batch of `rows` that all stand where a batch of one does."""
    return _of([cache], [0], room, rows)


def stacked(caches: Sequence[Cache], gaps: Sequence[int], room: int) -> Cache:
    """One batch of several, each behind a gap of padding."""
    return _of(caches, gaps, room, None)


def _of(caches: Sequence[Cache], gaps: Sequence[int], room: int, rows: int | None) -> Cache:
    made = []
    everything: list[Any] = [cache.layers for cache in caches]
    for layers in zip(*everything, strict=True):
        layer = RoomyLayer(room)
        layer.hold([(one.keys, one.values) for one in layers], gaps, room=room, rows=rows)
        made.append(layer)
    return Cache(layers=list(made))
