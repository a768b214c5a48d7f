"""The critic: a value head on the policy's last hidden state."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


class ValueHead(nn.Module):
    """Maps hidden states [T, H] to values [T] in float32; an output of 1 of its layer is a value of `scale`. It is zero
    at first, so that advantages begin as returns: a random critic would be a random reward (Yuan et al., 2025, arXiv
    2503.01491)."""

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
