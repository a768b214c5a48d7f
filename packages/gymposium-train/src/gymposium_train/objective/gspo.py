"""GSPO: the clipped surrogate on the ratio of whole turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from gymposium_train.objective.ppo import clipped_surrogate
from gymposium_train.objective.protocol import Objective, ObjectiveSettings, PolicyTokens, outside
from gymposium_train.objective.turns import mean_over_turns

if TYPE_CHECKING:
    from torch import Tensor


class GspoSettings(ObjectiveSettings):
    """Clipped ratios of whole turns (Zheng et al., 2025). The paper's mean over sequences is `aggregate = "turn"`."""

    kind: Literal["gspo"] = "gspo"
    """Which policy loss is used."""
    clip_low: float = Field(default=0.2, ge=0.0)
    """Ratios are clipped below 1 - `clip_low`; 3e-4 in the paper, since means over turns vary less than tokens."""
    clip_high: float = Field(default=0.28, ge=0.0)
    """Ratios are clipped above 1 + `clip_high`; 4e-4 in the paper."""


@dataclass(frozen=True, slots=True)
class Gspo(Objective):
    """The clipped surrogate on the ratio of each token's turn."""

    settings: GspoSettings

    def __call__(self, tokens: PolicyTokens) -> Tensor:
        low, high = self.settings.clip_low, self.settings.clip_high
        return gspo(tokens.logprobs, tokens.proximal, tokens.advantages, tokens.turn, low, high)

    def clipped(self, tokens: PolicyTokens) -> Tensor:
        ratio = turn_ratio(tokens.logprobs, tokens.proximal, tokens.turn)
        return outside(ratio, 1.0 - self.settings.clip_low, 1.0 + self.settings.clip_high)


def gspo(logprobs: Tensor, old: Tensor, advantages: Tensor, turn: Tensor, low: float, high: float) -> Tensor:
    """The clipped surrogate on the ratio of whole turns (Zheng et al., 2025, GSPO; a sequence is one turn's
    completion). Clips are narrow, 3e-4 and 4e-4 in the paper, since means vary less than tokens do. All [M].

    Every token has its turn's loss, and the gradient goes through the turn's ratio. The paper's mean over sequences is
    the aggregation `turn`."""
    return clipped_surrogate(turn_ratio(logprobs, old, turn), advantages, low, high)


def turn_ratio(logprobs: Tensor, old: Tensor, turn: Tensor) -> Tensor:
    """The ratio of each token's turn, the geometric mean of its tokens' ratios: [M]."""
    return mean_over_turns(logprobs - old, turn).exp()
