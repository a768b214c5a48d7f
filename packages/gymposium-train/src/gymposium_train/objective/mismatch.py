"""Mismatch: the engine that sampled and the learner that scores are two programs, and give one policy two sets of
log-probabilities. Where the learner's own are taken as the old ones, tokens are weighted by how far the two are apart.

`old` are the learner's log-probabilities before the first update, `engine` the ones that came with the samples: [M].
Weights are numbers to multiply a token's loss by: [M], without gradients. The engine's distribution is the one that
was sampled from, so without weights the gradient is that of no policy at all (Yao et al., 2025, "Your efficient RL
framework secretly brings you off-policy RL training").
"""

from __future__ import annotations

import torch
from torch import Tensor

from gymposium_train.objective.terms import k3
from gymposium_train.objective.turns import mean_over_turns


@torch.no_grad()
def truncated(old: Tensor, engine: Tensor, cap: float) -> Tensor:
    """The ratio old / engine of each token, at most `cap` (Yao et al., 2025, truncated importance sampling; they set
    2). Biased where it truncates, and never large."""
    return (old - engine).exp().clamp(max=cap)


@torch.no_grad()
def masked(old: Tensor, engine: Tensor, low: float, high: float) -> Tensor:
    """The ratio of each token where it is within `low` … `high`, 0 elsewhere (Ling team, 2025, IcePop, with 0.5 and
    5): a token on which the two disagree that much is left alone."""
    ratio = (old - engine).exp()
    return ratio * _within(ratio, low, high)


@torch.no_grad()
def masked_turns(old: Tensor, engine: Tensor, turn: Tensor, low: float, high: float) -> Tensor:
    """1 on the tokens of turns whose ratio, the geometric mean of their tokens', is within `low` … `high`, 0 on the
    others (Liu et al., 2025, "When speed kills stability"). The mean does not grow with the length, so long turns are
    not sorted out for being long. To be multiplied with one of the weights above."""
    ratio = mean_over_turns(old - engine, turn).exp()
    return _within(ratio, low, high)


@torch.no_grad()
def mismatch_kl(old: Tensor, engine: Tensor) -> Tensor:
    """KL(engine ‖ learner) as each token estimates it (k3), in nats. Its mean says how far the two programs are apart:
    well below 0.01 where all is well."""
    return k3(engine, old)


def _within(ratio: Tensor, low: float, high: float) -> Tensor:
    return ((ratio >= low) & (ratio <= high)).to(ratio.dtype)
