"""The reference policy: the trainable weights as they were at some time, put in the place of the present ones.

That serves a LoRA and full fine-tuning alike, needs no second model for a LoRA, and is right where the LoRA did not
begin at zero: switching an adapter off then gives the base, which is another policy (huggingface/trl#3194).
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
        """Let the reference be the policy as it is now."""
        self.weights = {name: p.detach().clone() for name, p in self._named.items()}

    @contextmanager
    def answering(self) -> Iterator[None]:
        """The model is the reference, inside the block; no gradients may be taken there."""
        self._change_places()
        try:
            yield
        finally:
            self._change_places()

    @torch.no_grad()
    def _change_places(self) -> None:
        """In place: whoever shards a model keeps hold of its parameters' memory."""
        for name, p in self._named.items():
            own = p.detach().clone()
            p.copy_(self.weights[name])
            self.weights[name].copy_(own)
