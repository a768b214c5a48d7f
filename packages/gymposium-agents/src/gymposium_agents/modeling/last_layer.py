"""The last layer of a model, run only at the places whose hidden states are needed.

All tokens need keys and values there, but queries, outputs and the feed-forward part only matter where a token is
predicted. A small model has two layers and predicts few tokens of a prompt, so this saves a third of its time. Results
and gradients are those of the whole layer. Architectures other than OPT, Llama, Qwen2 and Qwen3 run the whole layer.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers.cache_utils import Cache
from transformers.models.llama.modeling_llama import LlamaModel, rotate_half
from transformers.models.opt.modeling_opt import OPTDecoder
from transformers.models.qwen2.modeling_qwen2 import Qwen2Model
from transformers.models.qwen3.modeling_qwen3 import Qwen3Model


def select_places(model: Any, places: Tensor) -> dict[str, Tensor]:
    """Return the arguments with which `model` computes hidden states only at `places` [B, K] or [K] of its T tokens.
    Its hidden states are then [B, K, H]. Returns no arguments if it can only compute all of them."""
    decoder = model.get_decoder()
    if decoder.config._attn_implementation != "sdpa" or decoder.training:  # in training, transformers drops out
        return {}
    run: Callable[..., Tensor]
    if isinstance(decoder, OPTDecoder) and decoder.config.do_layer_norm_before:
        run = _run_opt_layer
    elif isinstance(decoder, (LlamaModel, Qwen2Model, Qwen3Model)):
        run = _run_llama_layer
    else:
        return {}
    layer = decoder.layers[-1]
    if "forward" not in vars(layer):
        layer.forward = MethodType(run, layer)
    return {"places": places}


def _run_opt_layer(
    self: Any,
    hidden_states: Tensor,
    attention_mask: Tensor | None = None,
    past_key_values: Cache | None = None,
    *,
    places: Tensor | None = None,
    **others: Any,
) -> Tensor:
    """Run OPT's layer, at `places` if they are given."""
    if places is None:
        whole: Tensor = type(self).forward(self, hidden_states, attention_mask, past_key_values, **others)
        return whole
    attention, normed = self.self_attn, self.self_attn_layer_norm(hidden_states)
    places = places.expand(len(normed), -1)
    queries = _split_heads(attention.q_proj(_gather(normed, places)), attention)
    keys, values = (_split_heads(project(normed), attention) for project in (attention.k_proj, attention.v_proj))
    found = _attend(attention, queries, keys, values, places, attention_mask, past_key_values)
    states = _gather(hidden_states, places) + attention.out_proj(found)
    result: Tensor = states + self.fc2(self.activation_fn(self.fc1(self.final_layer_norm(states))))
    return result


def _run_llama_layer(
    self: Any,
    hidden_states: Tensor,
    attention_mask: Tensor | None = None,
    position_ids: Tensor | None = None,
    past_key_values: Cache | None = None,
    use_cache: bool | None = None,
    position_embeddings: tuple[Tensor, Tensor] | None = None,
    *,
    places: Tensor | None = None,
    **others: Any,
) -> Tensor:
    """Run the layer of Llama, Qwen2 or Qwen3, at `places` if they are given."""
    assert position_embeddings is not None, "the model gives each layer its rotary embeddings"
    if places is None:
        inputs = (attention_mask, position_ids, past_key_values, use_cache, position_embeddings)
        whole: Tensor = type(self).forward(self, hidden_states, *inputs, **others)
        return whole
    attention, normed = self.self_attn, self.input_layernorm(hidden_states)
    places = places.expand(len(normed), -1)
    rotary = [one.expand(len(normed), -1, -1) for one in position_embeddings]
    queries = _split_heads(attention.q_proj(_gather(normed, places)), attention)
    keys, values = (_split_heads(project(normed), attention) for project in (attention.k_proj, attention.v_proj))
    if hasattr(attention, "q_norm"):  # Qwen3
        queries, keys = attention.q_norm(queries), attention.k_norm(keys)
    queries, keys = _rotate(queries, *(_gather(one, places) for one in rotary)), _rotate(keys, *rotary)
    found = _attend(attention, queries, keys, values, places, attention_mask, past_key_values)
    states = _gather(hidden_states, places) + attention.o_proj(found)
    result: Tensor = states + self.mlp(self.post_attention_layernorm(states))
    return result


def _gather(states: Tensor, places: Tensor) -> Tensor:
    """Return the states [B, T, H] at places [B, K]: [B, K, H]."""
    return states.gather(1, places[..., None].expand(-1, -1, states.shape[2]))


def _split_heads(states: Tensor, attention: Any) -> Tensor:
    """Return projected states [B, T, heads · size] as [B, heads, T, size]."""
    return states.view(*states.shape[:2], -1, attention.head_dim).transpose(1, 2)


def _rotate(states: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    rotated: Tensor = states * cosines[:, None] + rotate_half(states) * sines[:, None]  # type: ignore[no-untyped-call]
    return rotated


def _attend(
    attention: Any,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    places: Tensor,
    mask: Tensor | None,
    cache: Cache | None,
) -> Tensor:
    """Return what the queries at `places` [B, K] find: [B, K, heads · size]. `mask` is that of all T tokens. Without
    one, each token attends to all tokens up to itself."""
    tokens = keys.shape[2]
    if cache is not None:
        keys, values = cache.update(keys, values, attention.layer_idx)
    if mask is None:
        before = keys.shape[2] - tokens
        mask = (torch.arange(keys.shape[2], device=places.device) <= before + places[..., None])[:, None]
    else:
        mask = mask.expand(len(places), 1, -1, -1)
        mask = mask.gather(2, places[:, None, :, None].expand(-1, -1, -1, mask.shape[3]))
    grouped = queries.shape[1] != keys.shape[1]
    found = scaled_dot_product_attention(
        queries, keys, values, attn_mask=mask, scale=attention.scaling, enable_gqa=grouped
    )
    return found.transpose(1, 2).flatten(2)
