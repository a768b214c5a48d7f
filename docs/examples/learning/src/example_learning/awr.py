"""An objective: advantage-weighted regression (Peng et al., 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from gymposium_train.objective.protocol import Objective, ObjectiveSettings, PolicyTokens

if TYPE_CHECKING:
    from torch import Tensor


class AwrSettings(ObjectiveSettings):
    """Advantage-weighted regression (Peng et al., 2019)."""

    kind: Literal["awr"] = "awr"
    """Which policy loss is used."""
    temperature: float = Field(default=1.0, gt=0.0)
    """The divisor of the advantages."""
    cap: float = Field(default=20.0, ge=1.0)
    """Upper bound of the weights."""


@dataclass(frozen=True, slots=True)
class Awr(Objective):
    """Log-probabilities weighted by the exponential of the advantage, without ratios."""

    settings: AwrSettings

    def __call__(self, tokens: PolicyTokens) -> Tensor:
        weights = (tokens.advantages / self.settings.temperature).exp().clamp(max=self.settings.cap)
        return -weights * tokens.logprobs
