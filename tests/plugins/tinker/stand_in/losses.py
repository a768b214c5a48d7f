"""The service's losses: sums over tokens, from the log-probabilities of the targets. Their formulas are those of the
service's documentation."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor


def compute_loss(name: str, logprobs: Tensor, inputs: Mapping[str, Tensor], settings: Mapping[str, float]) -> Tensor:
    """The loss of one datum."""
    if name == "cross_entropy":
        return -(logprobs * inputs["weights"]).sum()
    advantages, ratio = inputs["advantages"], (logprobs - inputs["logprobs"]).exp()
    if name == "importance_sampling":
        return -(ratio * advantages).sum()
    clipped = ratio.clamp(settings.get("clip_low_threshold", 0.8), settings.get("clip_high_threshold", 1.2))
    if name == "ppo":
        return -(ratio * advantages).minimum(clipped * advantages).sum()
    assert name == "cispo", name
    return -(clipped.detach() * logprobs * advantages).sum()
