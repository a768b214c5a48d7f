"""Policy gradient with truncated importance weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from gymposium_train.objective.protocol import Objective, ObjectiveSettings, PolicyTokens, outside

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
    """Policy gradient with truncated importance weights."""

    settings: PgSettings

    def __call__(self, tokens: PolicyTokens) -> Tensor:
        return policy_gradient(tokens.logprobs, tokens.proximal, tokens.advantages, self.settings.cap)

    def clipped(self, tokens: PolicyTokens) -> Tensor:
        return outside((tokens.logprobs - tokens.proximal).exp(), -math.inf, self.settings.cap)


def policy_gradient(logprobs: Tensor, old: Tensor, advantages: Tensor, cap: float) -> Tensor:
    """REINFORCE (Williams, 1992), for samples of another policy weighted by their ratio, at most `cap` (Ionides, 2008,
    truncated importance sampling). All [M]."""
    weight = (logprobs - old).exp().clamp(max=cap).detach()
    return -weight * advantages * logprobs
