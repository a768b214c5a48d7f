"""The clipped objective against the formula written out, and entropy against torch's."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, strategies as st

from gymposium_train.objective import entropy, ppo_clip

LOW, HIGH = 0.2, 0.28


@given(
    new=st.floats(-3, 0),
    old=st.floats(-3, 0),
    advantage=st.floats(-2, 2),
)
def test_ppo_clip_is_the_formula(new: float, old: float, advantage: float) -> None:
    ratio = math.exp(new - old)
    clipped = min(max(ratio, 1 - LOW), 1 + HIGH)
    expected = -min(ratio * advantage, clipped * advantage)
    found = ppo_clip(torch.tensor([[new]]), torch.tensor([[old]]), torch.tensor([[advantage]]), LOW, HIGH)
    assert found.item() == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_on_policy_the_gradient_is_the_policy_gradient() -> None:
    logprobs = torch.tensor([[-1.0, -0.5], [-2.0, -0.1]], requires_grad=True)
    advantages = torch.tensor([[1.5], [-0.7]])
    ppo_clip(logprobs, logprobs.detach(), advantages, LOW, HIGH).sum().backward()
    assert logprobs.grad is not None
    torch.testing.assert_close(logprobs.grad, -advantages.expand(2, 2))


@pytest.mark.parametrize(("difference", "advantage"), [(0.5, 1.0), (-0.5, -1.0)])
def test_what_has_moved_far_enough_gets_no_more_gradient(difference: float, advantage: float) -> None:
    logprobs = torch.tensor([[-1.0]], requires_grad=True)
    ppo_clip(logprobs, logprobs.detach() - difference, torch.tensor([[advantage]]), LOW, HIGH).sum().backward()
    assert logprobs.grad is not None
    assert logprobs.grad.item() == 0.0


def test_entropy_is_torchs() -> None:
    logits = torch.randn(3, 4, 7, generator=torch.Generator().manual_seed(0))
    expected = torch.distributions.Categorical(logits=logits).entropy()
    torch.testing.assert_close(entropy(logits), expected)
