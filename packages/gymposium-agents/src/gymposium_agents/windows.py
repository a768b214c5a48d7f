"""Attention that looks back a fixed number of positions: which models have it, and the masks that say so.

transformers counts a sliding window in places of the cache. With padding in the middle of a row that is too few
tokens, so where a window is shorter than the cache these masks take its place, counted in positions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gymposium.errors import GymposiumError

_FULL, _SLIDING = "full_attention", "sliding_attention"


@dataclass(frozen=True, slots=True)
class Sliding:
    """The sliding layers of a model."""

    window: int
    """Positions that a token sees, its own included."""
    everywhere: bool
    """No layer looks back further."""


def sliding(model: Any) -> Sliding | None:
    """The sliding layers of `model`; None where all of its layers look back to the beginning.

    Raises `GymposiumError` where layers keep something else than keys and values of tokens."""
    config = model.config.get_text_config(decoder=True)
    window = getattr(config, "sliding_window", None)
    kinds = set(getattr(config, "layer_types", None) or ([_FULL] if window is None else [_SLIDING]))
    odd = kinds - {_FULL, _SLIDING}
    if getattr(config, "kv_sharing_modes", None) is not None:
        odd.add("shared keys and values")
    if getattr(config, "attention_chunk_size", None) is not None:
        odd.add("chunked_attention")
    if odd:
        raise GymposiumError(
            f"The in-process engine cannot run {config.model_type} models: it reuses what attention has seen, which it "
            f"can for {_FULL} and {_SLIDING}, not for {', '.join(sorted(odd))}. Take a vLLM server as the engine."
        )
    return Sliding(int(window), kinds == {_SLIDING}) if _SLIDING in kinds and window is not None else None


def windowed(model: Any, layers: Sliding, mask: Tensor, queries: int) -> Tensor | dict[str, Tensor]:
    """What a model with sliding layers takes as its `attention_mask`, for the last `queries` places of `mask` [B, T]
    (1 where there is a token): [B, 1, queries, T], or one of these for each kind of layer."""
    positions = mask.cumsum(dim=1)
    places = torch.arange(mask.shape[1], device=mask.device)
    asking = places[-queries:, None]
    seen = mask.bool()[:, None, :] & (places <= asking)
    near = seen & (positions[:, -queries:, None] - positions[:, None, :] < layers.window)
    itself = places == asking  # padding sees something too: a softmax over nothing is not a number
    full, short = (_as_taken(model, (one | itself)[:, None]) for one in (seen, near))
    return short if layers.everywhere else {_FULL: full, _SLIDING: short}


def _as_taken(model: Any, mask: Tensor) -> Tensor:
    """True where a place is seen, as the model's implementation of attention wants it said."""
    how = model.config._attn_implementation
    if how == "sdpa":
        return mask
    if how == "eager":
        return torch.zeros(mask.shape, dtype=model.dtype, device=mask.device).masked_fill(
            ~mask, torch.finfo(model.dtype).min
        )
    raise GymposiumError(
        f"The in-process engine cannot run this model's sliding windows with attn_implementation={how!r}. Load it with "
        f"attn_implementation='sdpa' or 'eager'."
    )
