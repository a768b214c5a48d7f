"""Corrections for the mismatch between engine and learner. The two are different programs and compute slightly
different log-probabilities for the same policy. If ratios use the learner's log-probabilities, the tokens must be
weighted by the difference.

`old` are the learner's log-probabilities before the first update, and `engine` those that came with the samples: [M].
Weights multiply the tokens' losses: [M], without gradients. The samples come from the engine's distribution. Without
weights, the gradient belongs to no policy. See Yao et al. (2025), "Your efficient RL framework secretly brings you
off-policy RL training".
"""

from __future__ import annotations

import torch
from torch import Tensor

from gymposium_train.objective.protocol import average_over_turns, compute_log_ratio
from gymposium_train.objective.terms import k3


@torch.no_grad()
def truncate_ratio(old: Tensor, engine: Tensor, cap: float) -> Tensor:
    """Return the ratio old / engine of each token, at most `cap` (truncated importance sampling: Yao et al., 2025, with
    a cap of 2). Truncation adds bias and bounds the weights."""
    return compute_log_ratio(old, engine).exp().clamp(max=cap)


@torch.no_grad()
def mask_ratio(old: Tensor, engine: Tensor, low: float, high: float) -> Tensor:
    """Return the ratio old / engine of each token if it is within `low` … `high`, else 0 (IcePop: Ling team, 2025, with
    bounds of 0.5 and 5). Tokens with a larger disagreement teach nothing."""
    ratio = compute_log_ratio(old, engine).exp()
    return ratio * _mark_within(ratio, low, high)


@torch.no_grad()
def mask_turns(old: Tensor, engine: Tensor, turn: Tensor, low: float, high: float) -> Tensor:
    """Return 1 for the tokens of turns whose ratio is within `low` … `high`, else 0 (Liu et al., 2025, "When speed
    kills stability"). A turn's ratio is the geometric mean of its tokens' ratios. It does not grow with length, so long
    turns are not penalized. Multiply it by the weights from `truncate_ratio` or `mask_ratio`."""
    ratio = average_over_turns(compute_log_ratio(old, engine), turn).exp()
    return _mark_within(ratio, low, high)


@torch.no_grad()
def compute_mismatch_kl(old: Tensor, engine: Tensor) -> Tensor:
    """Return the k3 estimate of KL(engine ‖ learner) at each token, in nats: [M]. Its mean measures the mismatch and is
    normally well below 0.01."""
    return k3(engine, old)


def _mark_within(ratio: Tensor, low: float, high: float) -> Tensor:
    return ((ratio >= low) & (ratio <= high)).to(ratio.dtype)
