"""The reference policy: the trainable weights as they were at some time, put in the place of the present ones.

That serves a LoRA and full fine-tuning alike, needs no second model for a LoRA, and is right where the LoRA did not
begin at zero: switching an adapter off then gives the base, which is another policy (huggingface/trl#3194).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

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
        own = {name: p.data for name, p in self._named.items()}
        try:
            for name, p in self._named.items():
                p.data = self.weights[name]
            yield
        finally:
            for name, p in self._named.items():
                p.data = own[name]
