"""CISPO: policy gradient weighted by the clipped ratio."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from gymposium_train.objective.ppo import ClippedObjective, ClippedSettings
from gymposium_train.objective.protocol import PolicyTokens

if TYPE_CHECKING:
    from torch import Tensor


class CispoSettings(ClippedSettings):
    """Clipped weights on the log-probabilities (MiniMax, 2025). The paper sets no lower bound: `clip_low = 1`."""

    kind: Literal["cispo"] = "cispo"
    """Which policy loss is used."""


class Cispo(ClippedObjective):
    """Policy gradient weighted by the clipped ratio (MiniMax, 2025): clipping bounds a token's weight but never removes
    its gradient."""

    def __call__(self, tokens: PolicyTokens) -> Tensor:
        weight = self.clip(self.ratio(tokens)).detach()
        return -weight * tokens.advantages * tokens.logprobs
