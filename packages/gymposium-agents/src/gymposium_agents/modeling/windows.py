"""Sliding-window attention: which models use it, and its attention masks.

transformers counts a sliding window in cache slots. With padding in the middle of a row, that window covers too few
tokens. These masks count the window in positions. They are used if the window is shorter than the cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, sdpa_mask

from gymposium.errors import GymposiumError

_FULL, _SLIDING = "full_attention", "sliding_attention"


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """The sliding-window layers of a model."""

    window: int
    """Number of positions that a token attends to, including its own."""
    everywhere: bool
    """True if all layers of the model have the window."""


def find_sliding_window(model: Any) -> SlidingWindow | None:
    """Return the sliding-window layers of `model`, or None if all of its layers attend to the whole sequence.

    Raises `GymposiumError` if layers cache anything other than keys and values of tokens."""
    config = model.config.get_text_config(decoder=True)
    window = getattr(config, "sliding_window", None)
    kinds = set(getattr(config, "layer_types", None) or ([_FULL] if window is None else [_SLIDING]))
    settings = {"kv_sharing_modes": "shared keys and values", "attention_chunk_size": "chunked_attention"}
    named = {kind for setting, kind in settings.items() if getattr(config, setting, None) is not None}
    if unsupported := kinds - {_FULL, _SLIDING} | named:
        raise GymposiumError(
            f"The in-process engine cannot run {config.model_type} models: its key-value cache supports {_FULL} and "
            f"{_SLIDING}, but not {', '.join(sorted(unsupported))}. Use a vLLM server as the engine."
        )
    return SlidingWindow(int(window), kinds == {_SLIDING}) if _SLIDING in kinds and window is not None else None


def has_grouped_heads(model: Any) -> bool:
    """Return True if `model` has fewer key-value heads than query heads, and uses masks that are True at visible
    places."""
    config = model.config.get_text_config(decoder=True)
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    return heads < config.num_attention_heads and _accepts_boolean_mask(model)


def make_window_mask(model: Any, layers: SlidingWindow, mask: Tensor, queries: int) -> Tensor | dict[str, Tensor]:
    """Return the `attention_mask` of a model with sliding-window layers, for the last `queries` places of `mask` [B,
    T]. `mask` is 1 at tokens and 0 at padding. The result has the shape [B, 1, queries, T]. A model with both kinds of
    layers gets one mask per kind."""
    positions = mask.cumsum(dim=1)
    places = torch.arange(mask.shape[1], device=mask.device)
    asking = places[-queries:, None]
    causal = mask.bool()[:, None, :] & (places <= asking)
    near = causal & (positions[:, -queries:, None] - positions[:, None, :] < layers.window)
    itself = places == asking  # padding attends to itself: a softmax over nothing is NaN
    full, short = (_convert_mask(model, (visible | itself)[:, None]) for visible in (causal, near))
    return short if layers.everywhere else {_FULL: full, _SLIDING: short}


def _convert_mask(model: Any, mask: Tensor) -> Tensor:
    """Convert a mask that is True at visible places to the format of the model's attention implementation."""
    how = model.config._attn_implementation
    if _accepts_boolean_mask(model):
        return mask
    if how == "eager":
        return torch.zeros(mask.shape, dtype=model.dtype, device=mask.device).masked_fill(
            ~mask, torch.finfo(model.dtype).min
        )
    raise GymposiumError(
        f"The in-process engine cannot run this model's sliding windows with attn_implementation={how!r}. Load it with "
        f"attn_implementation='sdpa' or 'eager'."
    )


def _accepts_boolean_mask(model: Any) -> bool:
    return ALL_MASK_ATTENTION_FUNCTIONS.get(model.config._attn_implementation) is sdpa_mask
