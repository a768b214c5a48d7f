"""CISPO: policy gradient weighted by the clipped ratio."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from gymposium_train.objective.protocol import Objective, ObjectiveSettings, PolicyTokens, outside

if TYPE_CHECKING:
    from torch import Tensor


class CispoSettings(ObjectiveSettings):
    """Clipped weights on the log-probabilities (MiniMax, 2025)."""

    kind: Literal["cispo"] = "cispo"
    """Which policy loss is used."""
    clip_low: float = Field(default=0.2, ge=0.0)
    """Weights are clipped below 1 - `clip_low`; the paper sets no lower bound, which is 1."""
    clip_high: float = Field(default=0.28, ge=0.0)
    """Weights are clipped above 1 + `clip_high`."""


@dataclass(frozen=True, slots=True)
class Cispo(Objective):
    """Policy gradient with clipped importance weights."""

    settings: CispoSettings

    def __call__(self, tokens: PolicyTokens) -> Tensor:
        low, high = self.settings.clip_low, self.settings.clip_high
        return cispo(tokens.logprobs, tokens.proximal, tokens.advantages, low, high)

    def clipped(self, tokens: PolicyTokens) -> Tensor:
        ratio = (tokens.logprobs - tokens.proximal).exp()
        return outside(ratio, 1.0 - self.settings.clip_low, 1.0 + self.settings.clip_high)


def cispo(logprobs: Tensor, old: Tensor, advantages: Tensor, low: float, high: float) -> Tensor:
    """Policy gradient weighted by the clipped ratio (MiniMax, 2025, CISPO): the clip bounds a token's weight and never
    removes its gradient. The paper sets no lower bound, which is `low` 1. All [M]."""
    weight = (logprobs - old).exp().clamp(1.0 - low, 1.0 + high).detach()
    return -weight * advantages * logprobs
