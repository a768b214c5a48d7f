"""Objectives: numbers and log-probabilities in, a loss for each token out. Pure functions of tensors."""

from __future__ import annotations

import torch
from torch import Tensor


def ppo_clip(logprobs: Tensor, old: Tensor, advantages: Tensor, low: float, high: float) -> Tensor:
    """The clipped surrogate (Schulman et al., 2017), with an upper bound of its own as in DAPO (Yu et al.,
    2025). All of shape [R, L] but `advantages`, [R, 1]. Returns the loss of each token, [R, L]."""
    ratio = (logprobs - old).exp()
    clipped = ratio.clamp(1.0 - low, 1.0 + high)
    return -torch.minimum(ratio * advantages, clipped * advantages)


def entropy(logits: Tensor) -> Tensor:
    """Entropy in nats of each distribution: [..., V] to [...]."""
    scores = torch.log_softmax(logits, dim=-1)
    return -(scores.exp() * scores).sum(dim=-1)
