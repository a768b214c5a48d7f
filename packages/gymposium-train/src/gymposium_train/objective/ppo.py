"""PPO: the clipped surrogate on the ratio of each token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from gymposium_train.objective.protocol import Objective, ObjectiveSettings, PolicyTokens, outside

if TYPE_CHECKING:
    from torch import Tensor


class PpoSettings(ObjectiveSettings):
    """Clipped ratios (Schulman et al., 2017), with an upper bound of its own (Yu et al., 2025, DAPO)."""

    kind: Literal["ppo"] = "ppo"
    """Which policy loss is used."""
    clip_low: float = Field(default=0.2, ge=0.0)
    """Ratios are clipped below 1 - `clip_low`."""
    clip_high: float = Field(default=0.28, ge=0.0)
    """Ratios are clipped above 1 + `clip_high`."""


@dataclass(frozen=True, slots=True)
class Ppo(Objective):
    """The clipped surrogate on the ratio of each token."""

    settings: PpoSettings

    def __call__(self, tokens: PolicyTokens) -> Tensor:
        low, high = self.settings.clip_low, self.settings.clip_high
        return ppo_clip(tokens.logprobs, tokens.proximal, tokens.advantages, low, high)

    def clipped(self, tokens: PolicyTokens) -> Tensor:
        ratio = (tokens.logprobs - tokens.proximal).exp()
        return outside(ratio, 1.0 - self.settings.clip_low, 1.0 + self.settings.clip_high)


def ppo_clip(logprobs: Tensor, old: Tensor, advantages: Tensor, low: float, high: float) -> Tensor:
    """The clipped surrogate (Schulman et al., 2017), with an upper bound of its own as in DAPO (Yu et al., 2025):
    a token gets no more gradient once its ratio has moved past 1 - `low` or 1 + `high` in the direction of its
    advantage. `old` are the log-probabilities that the ratio is taken against. All [M]."""
    return clipped_surrogate((logprobs - old).exp(), advantages, low, high)


def clipped_surrogate(ratio: Tensor, advantages: Tensor, low: float, high: float) -> Tensor:
    """The loss of each token, [M], given its ratio: the worse of the plain and the clipped one."""
    return -(ratio * advantages).minimum(ratio.clamp(1.0 - low, 1.0 + high) * advantages)
