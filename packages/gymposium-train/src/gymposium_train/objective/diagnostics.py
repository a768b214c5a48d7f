"""Diagnostics: what to report of an update. The names are the field's (CleanRL's and stable-baselines3's)."""

from __future__ import annotations

import torch
from torch import Tensor

from gymposium_train.objective.terms import k3


@torch.no_grad()
def approx_kl(logprobs: Tensor, old: Tensor) -> Tensor:
    """KL(old ‖ policy) as each token estimates it (k3), in nats: [M]. The mean says how far an update has gone."""
    return k3(old, logprobs)


@torch.no_grad()
def explained_variance(values: Tensor, targets: Tensor) -> float:
    """How much of the targets' variance the critic foresees: 1 is all of it, 0 what a constant does, below 0 worse.
    Both of shape [T], over all turns of a batch. NaN where the targets do not vary, and there is nothing to explain."""
    variance = targets.var(correction=0)
    if variance == 0.0:
        return float("nan")
    return float(1.0 - (targets - values).var(correction=0) / variance)
