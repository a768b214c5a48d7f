"""GSPO: the clipped surrogate on the ratio of whole turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from gymposium_train.objective.ppo import Ppo, SurrogateSettings
from gymposium_train.objective.protocol import Aggregation, PolicyTokens, average_over_turns, compute_log_ratio

if TYPE_CHECKING:
    from torch import Tensor


class GspoSettings(SurrogateSettings):
    """Clipped ratios of whole turns (Zheng et al., 2025), with the paper's mean over sequences and its bounds. The
    bounds are narrow, because means over turns vary less than tokens. In 16 bits, engine and learner differ by more
    than the bounds, so `mismatch.kind` is `decoupled` by default. Most tokens are clipped in a normal update."""

    prefers_decoupled: ClassVar[bool] = True
    clip_limit: ClassVar[float] = 1.0

    kind: Literal["gspo"] = "gspo"
    """Which policy loss is used."""
    aggregate: Aggregation = "turn"
    """How token losses are averaged, as in other objectives."""
    clip_low: float = Field(default=3e-4, ge=0.0)
    """Ratios are clipped below 1 - `clip_low`."""
    clip_high: float = Field(default=4e-4, ge=0.0)
    """Ratios are clipped above 1 + `clip_high`."""


class Gspo(Ppo):
    """The clipped surrogate on the ratio of each token's turn (Zheng et al., 2025; a sequence is the completion of one
    turn). All tokens of a turn have the same loss. The gradient flows through the turn's ratio."""

    def ratio(self, tokens: PolicyTokens) -> Tensor:
        """Return the ratio of each token's turn, the geometric mean of its tokens' ratios: [M]."""
        return average_over_turns(compute_log_ratio(tokens.logprobs, tokens.proximal), tokens.turn).exp()
