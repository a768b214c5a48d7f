"""Attention within each sequence of a packed row, computed in diagonal blocks.

The transformers library masks a packed row with a dense T × T mask, so time and memory grow quadratically with the
whole row. Here, each sequence attends only to itself. The work is the sum of the squared lengths, and nothing of size T
× T is in memory. This is an attention implementation for transformers (`AttentionInterface`). Other passes, such as an
engine's, are computed as with `sdpa`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from gymposium.errors import BadOption
from gymposium_train.config.model import Attention
from gymposium_train.learner.devices import supports_flash_attention

NAME = "gymposium_packed"
"""This implementation's name in transformers."""


@dataclass(frozen=True)
class PackedRow:
    """The sequences in a row of T tokens: their lengths in tokens, and the kind of attention within them."""

    lengths: tuple[int, ...]
    attention: Attention

    @property
    def mask(self) -> Tensor:
        """[1, 1, T, T]: a placeholder mask with the memory of one element. It is never read, but keeps transformers
        from making a mask."""
        length = sum(self.lengths)
        return torch.ones(1, 1, 1, 1, dtype=torch.bool).expand(1, 1, length, length)

    @cached_property
    def edges(self) -> tuple[int, ...]:
        """The start index of each sequence, followed by T."""
        return tuple(accumulate(self.lengths, initial=0))

    @property
    def alike(self) -> Iterator[tuple[int, int, int]]:
        """Runs of sequences with equal length, as (start of the first, length, count)."""
        place = 0
        for length, run in groupby(self.lengths):
            count = len([*run])
            yield place, length, count
            place += length * count


def choose_attention(model: Any, wanted: Attention, device: torch.device, dtype: torch.dtype) -> Attention:
    """Return the kind of attention for a `model` that learns on `device` in the number type `dtype`. `auto` selects the
    fastest one. Models loaded with an implementation other than `sdpa` keep it.

    Raises `BadOption` for `varlen` where it is not supported."""
    if wanted == "dense" or model.config._attn_implementation not in ("sdpa", NAME):
        return "dense"
    config = model.config.get_text_config(decoder=True)
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    is_supported = supports_flash_attention(device, dtype, size)
    if wanted == "varlen" and not is_supported:
        raise BadOption(
            f"model.attention = varlen needs an NVIDIA GPU with compute capability 8.0 or higher, a 16-bit dtype, and "
            f"a head size of at most 256. This model has head size {size} and dtype "
            f"{str(dtype).removeprefix('torch.')} on {device.type}. Set model.attention=auto."
        )
    return "varlen" if is_supported and wanted != "blocks" else "blocks"


def install_attention(model: Any) -> None:
    """Make a transformers model compute packed rows with this module."""
    AttentionInterface.register(NAME, compute_attention)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    model.set_attn_implementation(NAME)


def compute_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    packed: PackedRow | None = None,
    scaling: float | None = None,
    sliding_window: int | None = None,
    **others: Any,
) -> tuple[Tensor, None]:
    """Compute the attention of one layer, as called by transformers: queries [B, heads, T, size], keys and values with
    as many heads or fewer. Returns [B, T, heads, size]. With `packed`, B is 1 and the mask is not read."""
    if packed is None:
        output, weights = sdpa_attention_forward(
            module, query, key, value, attention_mask, scaling=scaling, sliding_window=sliding_window, **others
        )
        return output, weights
    heads = (query, key, value)
    if packed.attention == "varlen":
        return _compute_varlen(heads, packed, scaling, sliding_window), None
    parts = []
    for place, length, count in packed.alike:
        # [1, heads, count · length, size] to [count, heads, length, size]
        run = (part[0, :, place : place + count * length] for part in heads)
        blocks = [part.reshape(len(part), count, length, -1).transpose(0, 1) for part in run]
        parts.append(_compute_causal(blocks, scaling, sliding_window).transpose(1, 2).flatten(0, 1))
    return torch.cat(parts)[None], None


def _compute_causal(heads: list[Tensor], scaling: float | None, window: int | None) -> Tensor:
    """Compute causal attention of sequences of one length, [B, heads, L, size] each. With `window`, each token attends
    only to that many latest tokens."""
    query, key, value = heads
    grouped = query.shape[1] != key.shape[1]
    length = query.shape[2]
    if window is None or window >= length:
        return scaled_dot_product_attention(query, key, value, is_causal=True, scale=scaling, enable_gqa=grouped)
    parts = []
    for first in range(0, length, window):
        end, reach = min(first + window, length), max(0, first - window + 1)
        distance = torch.arange(first, end)[:, None] - torch.arange(reach, end)
        mask = ((distance >= 0) & (distance < window)).to(query.device)
        some = query[:, :, first:end], key[:, :, reach:end], value[:, :, reach:end]
        parts.append(scaled_dot_product_attention(*some, attn_mask=mask, scale=scaling, enable_gqa=grouped))
    return torch.cat(parts, dim=2)


def _compute_varlen(
    heads: tuple[Tensor, Tensor, Tensor], packed: PackedRow, scaling: float | None, window: int | None
) -> Tensor:
    """Compute causal attention of all sequences in one kernel (FlashAttention, for sequences of different lengths)."""
    from torch.nn.attention.varlen import varlen_attn  # in PyTorch since 2.10

    query, key, value = (part[0].transpose(0, 1) for part in heads)
    edges = torch.tensor(packed.edges, dtype=torch.int32, device=query.device)
    longest = max(packed.lengths)
    output = varlen_attn(
        query,
        key,
        value,
        edges,
        edges,
        longest,
        longest,
        scale=scaling,
        window_size=(-1 if window is None else window - 1, 0),
        enable_gqa=query.shape[1] != key.shape[1],
    )
    assert isinstance(output, Tensor)
    return output[None]
