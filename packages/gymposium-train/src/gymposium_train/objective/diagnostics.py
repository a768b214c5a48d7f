"""Diagnostics of an update for reports, named as in CleanRL and stable-baselines3."""

from __future__ import annotations

import torch
from torch import Tensor

from gymposium_train.objective.terms import k3


@torch.no_grad()
def approx_kl(logprobs: Tensor, old: Tensor) -> Tensor:
    """Return the k3 estimate of KL(old ‖ policy) at each token, in nats: [M]. Its mean measures the size of an
    update."""
    return k3(old, logprobs)


@torch.no_grad()
def explained_variance(values: Tensor, targets: Tensor) -> float:
    """Return the share of the targets' variance that the critic's values explain. 1 is all of it, 0 is no better than a
    constant, and negative values are worse. Both arguments have shape [T], over all turns of a batch. NaN if the
    targets do not vary."""
    variance = targets.var(correction=0)
    if variance == 0.0:
        return float("nan")
    return float(1.0 - (targets - values).var(correction=0) / variance)
