"""The reference policy: a copy or a moving average of the trainable weights, which replaces the current ones during its
evaluation.

This works for a LoRA and for full fine-tuning, and needs no second model. Disabling the adapter is not equivalent: if
the LoRA did not begin at zero, the base is another policy (huggingface/trl#3194).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class Reference:
    """Weights for a model's trainable parameters, other than the current ones."""

    def __init__(self, model: Mapping[str, nn.Parameter], masters: Mapping[str, nn.Parameter]) -> None:
        """`model` are the parameters that compute, by name. `masters` are those to copy and average: the same ones, or
        float32 weights whose rounded copies are in `model`. bfloat16 would round away the steps of an average."""
        self._model, self._masters = model, masters
        self.weights: dict[str, Tensor] = {name: p.detach().clone() for name, p in masters.items()}

    @torch.no_grad()
    def refresh(self, share: float = 1.0) -> None:
        """Move the reference toward the current weights by this share of the way. 1 copies them."""
        for name, p in self._masters.items():
            if share == 1.0:
                self.weights[name].copy_(p)
            else:
                self.weights[name].mul_(1.0 - share).add_(p, alpha=share)

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Let the model hold the reference's weights inside the block. No gradients may be computed there."""
        self._load_reference()
        try:
            yield
        finally:
            self._restore_model()

    # values are copied in place, because a sharded model refers to the memory of its parameters
    @torch.no_grad()
    def _load_reference(self) -> None:
        for name, p in self._model.items():
            if p is self._masters[name]:
                self._swap_weights(name, p)
            else:
                p.copy_(self.weights[name])

    @torch.no_grad()
    def _restore_model(self) -> None:
        for name, p in self._model.items():
            if p is self._masters[name]:
                self._swap_weights(name, p)
            else:
                p.copy_(self._masters[name])

    def _swap_weights(self, name: str, p: nn.Parameter) -> None:
        current = p.detach().clone()
        p.copy_(self.weights[name])
        self.weights[name].copy_(current)
