"""A causal language model in two parts: the trunk computes hidden states, and the head computes logits from them.

The head is wide: a vocabulary has up to 150,000 tokens. Separated from the trunk, it runs only at the places of sampled
tokens (in games most tokens belong to prompts), and in pieces.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

from gymposium.errors import GymposiumError

AGREES = 1e-3
"""Largest difference between our logits and the model's own, as a share of the largest logit; in 16 bits the limit is
two steps of the number type."""


@dataclass(slots=True)
class _States:
    """The output of a trunk, with hidden states in the field in which a whole model's output has logits."""

    logits: Tensor


class Trunk:
    """A model without its head. It is called like the model; `logits` of its output are hidden states [B, K, H]."""

    def __init__(self, model: Any) -> None:
        """`model` is a transformers causal language model, with or without LoRA layers."""
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


@torch.no_grad()
def keeps_apart(trunk: Trunk) -> bool:
    """Return whether the model attends only within a sequence where several are in one row, each with positions from
    0. OPT, for one, does not make its mask from the positions."""
    positions = torch.tensor([[*range(8), 0, 1]], device=trunk.device)

    def behind(token: int) -> Tensor:
        """The hidden states of a sequence behind one of eight equal tokens."""
        ids = torch.tensor([[*[token] * 8, 0, 1]], device=trunk.device)
        return trunk(input_ids=ids, position_ids=positions, use_cache=False).logits[:, 8:]

    return torch.equal(behind(0), behind(1))  # to the bit in any number type: what is masked has a weight of 0


class Head:
    """The output layer of a model: hidden states [N, H] to logits [N, V] in float32, as the model itself computes
    them."""

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
    """Raise `GymposiumError` if trunk and head together do not compute the model's logits: such an architecture has
    another operation between hidden states and logits, so training would use wrong probabilities."""
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
