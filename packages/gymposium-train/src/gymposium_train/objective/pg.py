"""Policy gradient with truncated importance weights."""

from __future__ import annotations

import math
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


class PgSettings(ObjectiveSettings):
    """Policy gradient (Williams, 1992) with truncated importance weights (Ionides, 2008)."""

    kind: Literal["pg"] = "pg"
    """Which policy loss is used."""
    cap: float = Field(default=1.28, ge=1.0)
    """Upper bound of the importance weights."""


@dataclass(frozen=True, slots=True)
class Pg(Objective):
    """REINFORCE (Williams, 1992) with importance weights for samples of another policy: probability ratios, capped at
    `cap` (truncated importance sampling: Ionides, 2008)."""

    settings: PgSettings

    def __call__(self, tokens: PolicyTokens) -> Tensor:
        weight = compute_log_ratio(tokens.logprobs, tokens.proximal).exp().clamp(max=self.settings.cap).detach()
        return -weight * tokens.advantages * tokens.logprobs

    def clipped(self, tokens: PolicyTokens) -> Tensor:
        return mark_outside(compute_log_ratio(tokens.logprobs, tokens.proximal).exp(), -math.inf, self.settings.cap)
