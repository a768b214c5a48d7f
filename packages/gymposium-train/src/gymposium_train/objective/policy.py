"""Policy losses: what each sampled token adds to the loss, given what its turn deserves.

`logprobs` are the policy's as it learns, `old` those of the policy that the ratio is taken against, `advantages`
the credit of each token's turn. All [M]; so is what is returned.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gymposium_train.objective.turns import mean_over_turns


def ppo_clip(logprobs: Tensor, old: Tensor, advantages: Tensor, low: float, high: float) -> Tensor:
    """The clipped surrogate (Schulman et al., 2017), with an upper bound of its own as in DAPO (Yu et al., 2025):
    a token gets no more gradient once its ratio has moved past 1 - `low` or 1 + `high` in the wanted direction."""
    return _clipped((logprobs - old).exp(), advantages, low, high)


def gspo(logprobs: Tensor, old: Tensor, advantages: Tensor, turn: Tensor, low: float, high: float) -> Tensor:
    """The clipped surrogate on the ratio of whole turns, the geometric mean of their tokens' (Zheng et al., 2025,
    GSPO; a sequence is one turn's completion). Clips are narrow here, 3e-4 and 4e-4 in the paper, since means vary
    less than tokens do.

    Every token has its turn's loss, and the gradient goes through the turn's ratio. The paper's mean over sequences is
    the aggregation `turn`."""
    return _clipped(mean_over_turns(logprobs - old, turn).exp(), advantages, low, high)


def cispo(logprobs: Tensor, old: Tensor, advantages: Tensor, low: float, high: float) -> Tensor:
    """Policy gradient weighted by the clipped ratio (MiniMax, 2025, CISPO): the clip bounds a token's weight and never
    silences it. The paper sets no lower bound, which is `low` 1."""
    weight = (logprobs - old).exp().clamp(1.0 - low, 1.0 + high).detach()
    return -weight * advantages * logprobs


def policy_gradient(logprobs: Tensor, old: Tensor, advantages: Tensor, cap: float) -> Tensor:
    """REINFORCE (Williams, 1992), for samples of another policy weighted by their ratio, at most `cap` (Ionides, 2008,
    truncated importance sampling)."""
    weight = (logprobs - old).exp().clamp(max=cap).detach()
    return -weight * advantages * logprobs


def _clipped(ratio: Tensor, advantages: Tensor, low: float, high: float) -> Tensor:
    return -torch.minimum(ratio * advantages, ratio.clamp(1.0 - low, 1.0 + high) * advantages)
