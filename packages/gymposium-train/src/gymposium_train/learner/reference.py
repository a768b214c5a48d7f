"""The reference policy: a copy of the trainable weights that replaces the current ones during its evaluation.

This works for a LoRA and for full fine-tuning, and needs no second model. Disabling the adapter is not equivalent: if
the LoRA did not begin at zero, the base is another policy (huggingface/trl#3194).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class Reference:
    """A copy of a model's trainable weights."""

    def __init__(self, named: Mapping[str, nn.Parameter]) -> None:
        self._named = named
        self.weights: dict[str, Tensor] = {}
        self.refresh()

    def refresh(self) -> None:
        """Make the current weights the reference."""
        self.weights = {name: p.detach().clone() for name, p in self._named.items()}

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Let the model hold the reference's weights inside the block. No gradients may be computed there."""
        self._swap_weights()
        try:
            yield
        finally:
            self._swap_weights()

    @torch.no_grad()
    def _swap_weights(self) -> None:
        """Swap values in place, because a sharded model refers to the memory of its parameters."""
        for name, p in self._named.items():
            current = p.detach().clone()
            p.copy_(self.weights[name])
            self.weights[name].copy_(current)
