"""The critic, a value head on the policy's last hidden state."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


class ValueHead(nn.Module):
    """A head that maps hidden states [T, H] to values [T] in float32. A layer output of 1 is a value of `scale`. It is
    initialized to zero, so that advantages begin as returns. A random critic would be a random reward (Yuan et al.,
    2025, arXiv 2503.01491)."""

    def __init__(self, model: Any, scale: float = 1.0) -> None:
        super().__init__()
        config = model.config.get_text_config(decoder=True)
        self._scale = scale
        self.layer = nn.Linear(int(config.hidden_size), 1, dtype=torch.float32, device=model.device)
        nn.init.zeros_(self.layer.weight)
        nn.init.zeros_(self.layer.bias)

    def forward(self, states: Tensor) -> Tensor:
        values: Tensor = self._scale * self.layer(states.float())[..., 0]
        return values
