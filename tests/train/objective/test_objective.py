"""Policy losses: hand-computed tables, and properties of their gradients."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, strategies as st
from torch import Tensor

from gymposium_train.objective.cispo import Cispo, CispoSettings
from gymposium_train.objective.gspo import Gspo, GspoSettings
from gymposium_train.objective.pg import Pg, PgSettings
from gymposium_train.objective.ppo import Ppo, PpoSettings
from gymposium_train.objective.protocol import Objective, PolicyTokens

LOW, HIGH = 0.2, 0.28

TURN = torch.tensor([0, 1, 0, 0, 1])
LOSSES: dict[str, Objective] = {
    "ppo": Ppo(PpoSettings(clip_low=LOW, clip_high=HIGH)),
    "gspo": Gspo(GspoSettings(clip_low=LOW, clip_high=HIGH)),
    "cispo": Cispo(CispoSettings(clip_low=LOW, clip_high=HIGH)),
    "pg": Pg(PgSettings(cap=2.0)),
}


def losses(name: str, logprobs: Tensor, old: Tensor, advantages: Tensor, turn: Tensor = TURN) -> Tensor:
    return LOSSES[name](PolicyTokens(logprobs, old, advantages, turn))


def logs(*numbers: float) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64).log()


def gradient(loss: Tensor, of: Tensor) -> Tensor:
    return torch.autograd.grad(loss.sum(), of)[0]


@given(
    new=st.floats(-3, 0), old=st.floats(-3, 0), advantage=st.floats(-2, 2), dual=st.sampled_from([0.0, 1.5, 3.0, 99.0])
)
def test_ppo_matches_its_formula(new: float, old: float, advantage: float, dual: float) -> None:
    ratio = math.exp(new - old)
    clipped = min(max(ratio, 1 - LOW), 1 + HIGH)
    expected = -min(ratio * advantage, clipped * advantage)
    if dual and advantage < 0:
        expected = min(expected, -dual * advantage)
    ppo = Ppo(PpoSettings(clip_low=LOW, clip_high=HIGH, clip_dual=dual))
    found = ppo(PolicyTokens(torch.tensor([new]), torch.tensor([old]), torch.tensor([advantage]), TURN[:1]))
    assert found.item() == pytest.approx(expected, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("name", ["ppo", "gspo"])
def test_dual_clip_stops_negative_advantage_gradients(name: str) -> None:
    logprobs = logs(0.8, 0.8, 0.8, 0.8, 0.8).requires_grad_()
    for old, is_bounded in ((0.2, True), (0.3, False)):  # ratios 4 and 2.67
        advantages = torch.full((5,), -1.0, dtype=torch.float64)
        found = losses(name, logprobs, logs(*[old] * 5), advantages)
        torch.testing.assert_close(found, torch.full_like(found, min(0.8 / old, 3.0)))
        assert gradient(found, logprobs).any() != is_bounded


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("difference", [1e3, -1e3, math.inf])
def test_losses_and_gradients_stay_finite(name: str, difference: float) -> None:
    logprobs = torch.full((5,), -1.0, requires_grad=True)
    advantages = torch.tensor([1.0, -1.0, 0.0, 1.0, -1.0])
    found = losses(name, logprobs, logprobs.detach() - difference, advantages)
    weights = torch.tensor([1.0, 1.0, 1.0, 0.0, 0.0])
    assert found.isfinite().all()
    assert gradient(found * weights, logprobs).isfinite().all()


@pytest.mark.parametrize("name", LOSSES)
def test_on_policy_gradient_is_the_policy_gradient(name: str) -> None:
    logprobs = logs(0.4, 0.6, 0.1, 0.9, 0.5).requires_grad_()
    advantages = torch.tensor([1.5, -0.7], dtype=torch.float64)[TURN]
    found = gradient(losses(name, logprobs, logprobs.detach(), advantages), logprobs)
    torch.testing.assert_close(found, -advantages)


@pytest.mark.parametrize("name", ["ppo", "gspo"])
@pytest.mark.parametrize(("difference", "advantage"), [(0.5, 1.0), (-0.5, -1.0)])
def test_clipped_tokens_get_no_gradient(name: str, difference: float, advantage: float) -> None:
    logprobs = logs(0.4, 0.6, 0.1, 0.9, 0.5).requires_grad_()
    advantages = torch.full((5,), advantage, dtype=torch.float64)
    assert not gradient(losses(name, logprobs, logprobs.detach() - difference, advantages), logprobs).any()
    back = gradient(losses(name, logprobs, logprobs.detach() + difference, advantages), logprobs)
    assert (back * advantages < 0).all()


@pytest.mark.parametrize("name", ["ppo", "cispo"])
def test_clip_bounds_are_independent(name: str) -> None:
    """The ratio 1.25 is within 1.28, the ratio 0.75 is not within 0.8."""
    logprobs = logs(0.5, 0.5, 0.5, 0.5, 0.5).requires_grad_()
    old = logs(0.4, 0.4, 2 / 3, 2 / 3, 0.5)
    advantages = torch.tensor([1.0, -1.0, 1.0, -1.0, 2.0], dtype=torch.float64)
    expected = [-1.25, 1.25, -0.75, 0.0, -2.0] if name == "ppo" else [-1.25, 1.25, -0.8, 0.8, -2.0]
    found = gradient(losses(name, logprobs, old, advantages), logprobs)
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))


def test_gspo_matches_hand_computation() -> None:
    """Turn 0 has three tokens of ratios 2, 4 and 1, so its own is 2; turn 1 two of 1 and 1/4, so 1/2."""
    logprobs = logs(0.8, 0.3, 0.4, 0.5, 0.1).requires_grad_()
    old = logs(0.4, 0.3, 0.1, 0.5, 0.4)
    advantages = torch.tensor([3.0, 5.0], dtype=torch.float64)[TURN]
    wide = Gspo(GspoSettings(clip_low=1.0, clip_high=9.0))(PolicyTokens(logprobs, old, advantages, TURN))
    expected = torch.tensor([-6.0, -2.5], dtype=torch.float64)[TURN]
    torch.testing.assert_close(wide, expected)
    # equation 10 of Zheng et al., 2025: the mean over turns of ratio * advantage * mean over tokens of the score
    of_paper = torch.tensor([-6.0 / 3, -2.5 / 2], dtype=torch.float64)[TURN] / 2
    lengths = torch.tensor([3.0, 2.0], dtype=torch.float64)[TURN]
    torch.testing.assert_close(gradient(wide / (2 * lengths), logprobs), of_paper)
    # turn 0 is above 1.28 with a positive advantage, turn 1 below 0.8 with a negative one
    held = losses("gspo", logprobs, old, torch.tensor([3.0, -5.0], dtype=torch.float64)[TURN])
    torch.testing.assert_close(held, torch.tensor([-3.0 * 1.28, 5.0 * 0.8], dtype=torch.float64)[TURN])
    assert not gradient(held, logprobs).any()


def test_gspo_equals_ppo_for_one_token_turns() -> None:
    logprobs, old = logs(0.8, 0.3, 0.4), logs(0.4, 0.3, 0.9)
    advantages = torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64)
    turn = torch.arange(3)
    torch.testing.assert_close(
        losses("gspo", logprobs, old, advantages, turn), losses("ppo", logprobs, old, advantages, turn)
    )


def test_cispo_bounds_the_weight_and_keeps_the_gradient() -> None:
    """Ratios 2, 1/2 and 1. All three learn, the first with weight 1.28, the second with 0.8, for either sign."""
    logprobs = logs(0.8, 0.2, 0.5).requires_grad_()
    old = logs(0.4, 0.4, 0.5)
    for advantage in (3.0, -3.0):
        loss = losses("cispo", logprobs, old, torch.full((3,), advantage, dtype=torch.float64))
        weights = torch.tensor([1.28, 0.8, 1.0], dtype=torch.float64)
        torch.testing.assert_close(loss, -weights * advantage * logprobs)
        torch.testing.assert_close(gradient(loss, logprobs), -weights * advantage)


def test_policy_gradient_truncates_its_weight() -> None:
    """Ratios 4, 1/2 and 1 with a cap of 2."""
    logprobs = logs(0.8, 0.2, 0.5).requires_grad_()
    loss = losses("pg", logprobs, logs(0.2, 0.4, 0.5), torch.full((3,), -3.0, dtype=torch.float64))
    weights = torch.tensor([2.0, 0.5, 1.0], dtype=torch.float64)
    torch.testing.assert_close(loss, 3.0 * weights * logprobs)
    torch.testing.assert_close(gradient(loss, logprobs), 3.0 * weights)
