"""GSPO: the clipped surrogate on the ratio of whole turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from gymposium_train.objective.ppo import ClippedSettings, Ppo
from gymposium_train.objective.protocol import PolicyTokens, log_ratio, mean_over_turns

if TYPE_CHECKING:
    from torch import Tensor


class GspoSettings(ClippedSettings):
    """Clipped ratios of whole turns (Zheng et al., 2025). The paper's mean over sequences is `aggregate = "turn"`. Its
    bounds are narrow (`clip_low = 3e-4` and `clip_high = 4e-4`), because means over turns vary less than tokens."""

    kind: Literal["gspo"] = "gspo"
    """Which policy loss is used."""


class Gspo(Ppo):
    """The clipped surrogate on the ratio of each token's turn (Zheng et al., 2025; a sequence is the completion of one
    turn). All tokens of a turn have the same loss. The gradient flows through the turn's ratio."""

    def ratio(self, tokens: PolicyTokens) -> Tensor:
        """Return the ratio of each token's turn, the geometric mean of its tokens' ratios: [M]."""
        return mean_over_turns(log_ratio(tokens.logprobs, tokens.proximal), tokens.turn).exp()
