"""Metrics of a step's rewards and credit."""

from __future__ import annotations

import math
import resource
import sys
from collections.abc import Sequence
from statistics import pvariance

import torch

from gymposium_train.credit.protocol import Episode
from gymposium_train.objective.diagnostics import explained_variance

_MAXRSS = 1 if sys.platform == "darwin" else 1024
"""Number of bytes in a unit of `ru_maxrss`."""


def compute_reward_metrics(groups: Sequence[Sequence[Episode]]) -> dict[str, float]:
    """Return the mean reward, the mean of each part of the reward over the episodes with that part, and the spread of
    the rewards within groups. Empty without episodes."""
    rewards = [episode.reward for group in groups for episode in group]
    if not rewards:
        return {}
    parts: dict[str, list[float]] = {}
    for reward in rewards:
        for name, value in reward.parts.items():
            parts.setdefault(name, []).append(value)
    means = {f"rollout/reward/{name}": _compute_mean(values) for name, values in parts.items()}
    total = _compute_mean([reward.total for reward in rewards])
    return {"rollout/reward": total, **means, **_compute_spread_metrics(groups)}


def _compute_spread_metrics(groups: Sequence[Sequence[Episode]]) -> dict[str, float]:
    """Return the mean variance of the rewards within a group, and the share of groups with equal rewards. Groups of one
    episode do not count. Empty without other groups."""
    each = [[episode.reward.total for episode in group] for group in groups if len(group) > 1]
    if not each:
        return {}
    return {
        "rollout/reward_variance": _compute_mean([pvariance(rewards) for rewards in each]),
        "rollout/equal_rewards": _compute_mean([float(min(rewards) == max(rewards)) for rewards in each]),
    }


def compute_credit_metrics(episodes: Sequence[Episode], *, critic: bool) -> dict[str, float]:
    """Return the mean and standard deviation of the advantages, and the critic's explained variance."""
    spans = [span for episode in episodes for span in episode.spans]
    if not spans:
        return {}
    advantages = torch.tensor([span.advantage for span in spans], dtype=torch.float64)
    metrics = {
        "train/advantage_mean": float(advantages.mean()),
        "train/advantage_std": float(advantages.std(correction=0)),
    }
    if critic:
        values = torch.tensor([span.value for span in spans], dtype=torch.float64)
        targets = torch.tensor([span.target for span in spans], dtype=torch.float64)
        explained = explained_variance(values, targets)
        if math.isfinite(explained):  # not finite if all targets are equal
            metrics["train/explained_variance"] = explained
    return metrics


def measure_peak_memory() -> dict[str, float]:
    """Return this process's peak memory so far, in MiB: `perf/memory_host` and, with a GPU, `perf/memory_device`, the
    memory allocated by torch."""
    metrics = {"perf/memory_host": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MAXRSS / 2**20}
    if torch.cuda.is_available():
        metrics["perf/memory_device"] = torch.cuda.max_memory_allocated() / 2**20
    return metrics


def _compute_mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
