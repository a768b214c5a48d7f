"""A causal language model in two parts: the trunk, which makes hidden states, and the head, which makes logits of them.

The head is wide: a vocabulary has up to 150,000 words. Apart from the trunk, it need only be run where a token was
sampled (in games most tokens are prompts), and in pieces.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

from gymposium.errors import GymposiumError

AGREES = 1e-3
"""So near must our logits be to the model's own, as a share of the largest; in 16 bits, to two steps of the type."""


@dataclass(slots=True)
class _States:
    """What a trunk answers, under the name under which a whole model's answer holds its logits."""

    logits: Tensor


class Trunk:
    """A model without its head, called as the model is: `logits` of what it returns are hidden states [B, K, H]."""

    def __init__(self, model: Any) -> None:
        """`model` is a transformers causal language model, LoRA layers in it or not."""
        self.decoder = model.get_decoder()
        self.config = model.config

    @property
    def device(self) -> Any:
        return self.decoder.device

    @property
    def dtype(self) -> Any:
        return self.decoder.dtype

    def __call__(self, *, logits_to_keep: int = 0, **inputs: Any) -> _States:
        states: Tensor = self.decoder(**inputs).last_hidden_state
        return _States(states[:, -logits_to_keep:] if logits_to_keep else states)


class Head:
    """The output layer of a model: hidden states [N, H] to logits [N, V] in float32, as the model itself makes them."""

    def __init__(self, model: Any) -> None:
        self.layer = model.get_output_embeddings()
        config = model.config.get_text_config(decoder=True)
        self.vocabulary = int(config.vocab_size)
        self._softcap: float | None = getattr(config, "final_logit_softcapping", None)  # Gemma 2
        self._scale = float(getattr(config, "logit_scale", None) or 1.0)  # Cohere
        self._scale /= float(getattr(config, "logits_scaling", None) or 1.0)  # Granite

    def __call__(self, states: Tensor) -> Tensor:
        weight, bias = self.layer.weight, getattr(self.layer, "bias", None)
        logits = linear(states.to(weight.dtype), weight, bias).float()
        if self._scale != 1.0:
            logits = logits * self._scale
        if self._softcap is not None:
            logits = torch.tanh(logits / self._softcap) * self._softcap
        return logits


@torch.no_grad()
def check_split(model: Any, trunk: Trunk, head: Head) -> None:
    """Raises `GymposiumError` where trunk and head together are not the model: an architecture that does something more
    between its hidden states and its logits must not be learned with, since its probabilities would not be these."""
    ids = torch.arange(2, device=trunk.device)[None]
    whole = model(input_ids=ids).logits[0].float()
    ours = head(trunk(input_ids=ids).logits[0])
    agrees = max(AGREES, 2 * torch.finfo(head.layer.weight.dtype).eps)
    difference = float((whole - ours).abs().max())
    if not difference <= agrees * max(1.0, float(whole.abs().max())):
        raise GymposiumError(
            f"{type(model).__name__} does more with its hidden states than its output layer says: its logits are up to "
            f"{difference:.3g} away from ours. It cannot be trained here yet; take another architecture."
        )
