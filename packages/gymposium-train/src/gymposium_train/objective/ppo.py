"""PPO: the clipped surrogate on each token's ratio, and the base classes of objectives that clip ratios."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from gymposium_train.objective.protocol import (
    Objective,
    ObjectiveSettings,
    PolicyTokens,
    compute_log_ratio,
    mark_outside,
)

if TYPE_CHECKING:
    from torch import Tensor


class ClippedSettings(ObjectiveSettings):
    """Base class of the settings of objectives that clip ratios."""

    clip_low: float = Field(default=0.2, ge=0.0)
    """Ratios are clipped below 1 - `clip_low`."""
    clip_high: float = Field(default=0.28, ge=0.0)
    """Ratios are clipped above 1 + `clip_high`."""


class SurrogateSettings(ClippedSettings):
    """Base class of the settings of clipped surrogates."""

    clip_dual: float = Field(default=3.0, ge=0.0)
    """The loss of a negative advantage is at most this number times the advantage (Ye et al., 2020). A token whose
    probability rose sharply then cannot dominate a step. 0: no bound."""


class PpoSettings(SurrogateSettings):
    """Clipped ratios (Schulman et al., 2017), with a separate upper bound (Yu et al., 2025, DAPO)."""

    kind: Literal["ppo"] = "ppo"
    """Which policy loss is used."""


@dataclass(frozen=True, slots=True)
class ClippedObjective(Objective):
    """Base class of objectives that clip ratios of new to proximal probabilities."""

    settings: ClippedSettings

    def ratio(self, tokens: PolicyTokens) -> Tensor:
        """Return the ratio of each token, before clipping: [M]."""
        return compute_log_ratio(tokens.logprobs, tokens.proximal).exp()

    def clip(self, ratio: Tensor) -> Tensor:
        """Return the ratios clipped to 1 - `clip_low` … 1 + `clip_high`."""
        return ratio.clamp(1.0 - self.settings.clip_low, 1.0 + self.settings.clip_high)

    def clipped(self, tokens: PolicyTokens) -> Tensor:
        return mark_outside(self.ratio(tokens), 1.0 - self.settings.clip_low, 1.0 + self.settings.clip_high)


class Ppo(ClippedObjective):
    """The clipped surrogate (Schulman et al., 2017), with a separate upper bound as in DAPO (Yu et al., 2025). It is
    the worse of the plain and the clipped ratio, times the advantage. A token gets no gradient once its ratio has
    passed a bound in the direction of its advantage. With a negative advantage, it also gets no gradient above
    `clip_dual`."""

    settings: SurrogateSettings

    def __call__(self, tokens: PolicyTokens) -> Tensor:
        ratio, advantages = self.ratio(tokens), tokens.advantages
        if self.settings.clip_dual:
            ratio = ratio.where(advantages >= 0, ratio.clamp(max=self.settings.clip_dual))
        return -(ratio * advantages).minimum(self.clip(ratio) * advantages)
