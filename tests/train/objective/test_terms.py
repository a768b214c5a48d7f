"""Terms, engine-mismatch weights and diagnostics match exact expectations and tables."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, strategies as st
from torch import Tensor

from gymposium.errors import BadOption
from gymposium_train.objective.cispo import Cispo, CispoSettings
from gymposium_train.objective.diagnostics import approx_kl, explained_variance
from gymposium_train.objective.gspo import Gspo, GspoSettings
from gymposium_train.objective.mismatch import compute_mismatch_kl, mask_ratio, mask_turns, truncate_ratio
from gymposium_train.objective.pg import Pg, PgSettings
from gymposium_train.objective.ppo import Ppo, PpoSettings
from gymposium_train.objective.protocol import PolicyTokens
from gymposium_train.objective.terms import (
    compute_entropy,
    compute_entropy_among,
    compute_illegality,
    compute_importance,
    compute_nll,
    compute_value_loss,
    k1,
    k2,
    k3,
    k3_straight_through,
)

scores = st.lists(st.floats(-3, 3), min_size=5, max_size=5)


def policies(policy: list[float], reference: list[float]) -> tuple[Tensor, Tensor, Tensor]:
    """The policy's logits, and both policies' log-probabilities."""
    logits = torch.tensor(policy, dtype=torch.float64, requires_grad=True)
    return logits, logits.log_softmax(-1), torch.tensor(reference, dtype=torch.float64).log_softmax(-1)


def exact_kl(p: Tensor, q: Tensor) -> Tensor:
    return (p.exp() * (p - q)).sum()


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


@given(policy=scores, reference=scores)
def test_k1_and_k3_estimate_the_kl(policy: list[float], reference: list[float]) -> None:
    _, p, q = policies(policy, reference)
    exact = exact_kl(p, q)
    for estimate in (k1, k3, k3_straight_through):
        close((p.exp() * estimate(p, q)).sum(), exact)
    assert (k3(p, q) >= 0).all()


@given(policy=scores, reference=scores)
def test_k2_and_straight_through_k3_have_the_kl_gradient(policy: list[float], reference: list[float]) -> None:
    """The mean over samples of a loss's gradient; samples have no gradient, so the weights have none."""
    logits, p, q = policies(policy, reference)

    def mean_gradient(estimate: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        return torch.autograd.grad((p.exp().detach() * estimate(p, q)).sum(), logits, retain_graph=True)[0]

    (wanted,) = torch.autograd.grad(exact_kl(p, q), logits, retain_graph=True)
    close(mean_gradient(k2), wanted)
    close(mean_gradient(k3_straight_through), wanted)
    # the others are no losses: the mean gradient of k1 is 0, that of k3 is of the KL in the other direction
    close(mean_gradient(k1), torch.zeros(5, dtype=torch.float64))
    (other,) = torch.autograd.grad(exact_kl(q, p), logits, retain_graph=True)
    close(mean_gradient(k3), other)


def at(scores: Tensor, among: Tensor) -> tuple[Tensor, Tensor]:
    """The log-probabilities of the tokens `among`, which is filled up with -1, and where there is one."""
    return scores.gather(-1, among.clamp(min=0)), among >= 0


def test_entropy_matches_torch() -> None:
    logits = torch.randn(3, 4, 7, generator=torch.Generator().manual_seed(0))
    expected = torch.distributions.Categorical(logits=logits).entropy()
    torch.testing.assert_close(compute_entropy(logits.log_softmax(-1)), expected)


def test_reply_tree_entropy_matches_hand_computation() -> None:
    """Three replies, 1 2, 1 3 and 4, each with the end 0. Two thirds of the legal mass begin with 1, and behind it 2
    and 3 are equally likely, so all three are: the mean over them of the sum along each is log 3. Half of the first
    distribution is on tokens that continue no reply, and nine tenths of the second."""
    begin = torch.tensor([0.2, 1 / 3, 0.2, 0.05, 1 / 6, 0.05]).log()
    behind = torch.tensor([0.3, 0.3, 0.05, 0.05, 0.2, 0.1]).log()
    end = torch.tensor([0.1, 0.3, 0.2, 0.2, 0.1, 0.1]).log()
    among = torch.tensor([[1, 4, -1], [2, 3, -1], [0, -1, -1], [-1, -1, -1]])
    found = compute_entropy_among(*at(torch.stack([begin, behind, end, end]), among))
    first = math.log(3) - 2 / 3 * math.log(2)
    torch.testing.assert_close(found, torch.tensor([first, math.log(2), 0.0, 0.0]))
    assert found[2:].tolist() == [0.0, 0.0]
    assert float(found[0] + 2 / 3 * found[1]) == pytest.approx(math.log(3))


@given(policy=st.lists(st.floats(-9, 9), min_size=5, max_size=5), legal=st.sets(st.integers(0, 4), max_size=5))
def test_restricted_entropy_ignores_other_tokens(policy: list[float], legal: set[int]) -> None:
    """It is that of the whole distribution, restricted and renormalized; no other logit has a gradient, and the logits
    as a whole are not moved up or down."""
    logits = torch.tensor([policy], dtype=torch.float64, requires_grad=True)
    among = torch.tensor([[*sorted(legal), *[-1] * (6 - len(legal))]])
    found = compute_entropy_among(*at(logits.log_softmax(-1), among))
    (gradient,) = torch.autograd.grad(found.sum(), logits)
    assert all(abs(gradient[0, token]) < 1e-12 for token in {*range(5)} - legal)
    close(gradient.sum(), torch.zeros((), dtype=torch.float64))
    if len(legal) < 2:
        assert (found.item(), float(gradient.abs().max())) == (0.0, 0.0)
        return
    mine = logits.softmax(-1)[0, sorted(legal)]
    mine = mine / mine.sum()
    expected = -(mine * mine.log()).sum()
    close(found[0], expected)
    close(gradient, torch.autograd.grad(expected, logits)[0])


def test_value_loss_matches_hand_computation() -> None:
    """Without a clip the squared error. With one of 0.5 around 0, values 2 and -0.25 are held at 0.5 and -0.25; the
    worse of the two errors counts."""
    values, targets = torch.tensor([2.0, -0.25, 2.0]), torch.tensor([1.0, 1.0, 4.0])
    assert compute_value_loss(values, targets).tolist() == [1.0, 1.5625, 4.0]
    assert compute_value_loss(values, targets, torch.zeros(3), clip=0.5).tolist() == [1.0, 1.5625, 12.25]
    with pytest.raises(BadOption, match="from before the update"):
        compute_value_loss(values, targets, clip=0.5)


def test_nll_matches_torch() -> None:
    logits = torch.randn(6, 9, generator=torch.Generator().manual_seed(0))
    labels = torch.arange(6)
    logprobs = logits.log_softmax(-1)[torch.arange(6), labels]
    torch.testing.assert_close(compute_nll(logprobs).mean(), torch.nn.functional.cross_entropy(logits, labels))


RATIOS = torch.tensor([4.0, 0.25, 1.0, 0.5])
ENGINE = torch.tensor([-2.0, -1.0, -3.0, -2.5])
OLD = (RATIOS.log() + ENGINE).requires_grad_()
TURN = torch.tensor([0, 0, 1, 1])


def test_mismatch_weights_match_hand_computation() -> None:
    """The turns' geometric means are 1 and about 0.71."""
    torch.testing.assert_close(truncate_ratio(OLD, ENGINE, 2.0), torch.tensor([2.0, 0.25, 1.0, 0.5]))
    torch.testing.assert_close(mask_ratio(OLD, ENGINE, 0.4, 3.0), torch.tensor([0.0, 0.0, 1.0, 0.5]))
    assert mask_turns(OLD, ENGINE, TURN, 0.8, 1.25).tolist() == [1.0, 1.0, 0.0, 0.0]
    assert mask_turns(OLD, ENGINE, TURN, 0.7, 0.75).tolist() == [0.0, 0.0, 1.0, 1.0]


def test_impossible_tokens_have_finite_weights() -> None:
    old, engine = torch.tensor([-1.0, -math.inf, -1.0]), torch.tensor([-math.inf, -1.0, -1.0])
    turn = torch.tensor([0, 0, 1])
    assert truncate_ratio(old, engine, 2.0).tolist() == pytest.approx([2.0, 0.0, 1.0], abs=1e-6)
    assert mask_ratio(old, engine, 0.5, 2.0).tolist() == [0.0, 0.0, 1.0]
    assert mask_turns(old, engine, turn, 0.5, 2.0).isfinite().all()
    assert compute_mismatch_kl(old, engine).isfinite().all()
    assert compute_importance(old, engine).isfinite().all()


def test_turn_masks_do_not_depend_on_length() -> None:
    """A hundred tokens that are each a little more likely: the product of the ratios is 2.7, their mean 1.01."""
    turn = torch.zeros(100, dtype=torch.long)
    assert mask_turns(torch.full((100,), -0.99), torch.full((100,), -1.0), turn, 0.98, 1.02).all()


def test_weights_and_diagnostics_carry_no_gradient() -> None:
    for found in (
        truncate_ratio(OLD, ENGINE, 2.0),
        mask_ratio(OLD, ENGINE, 0.5, 5.0),
        mask_turns(OLD, ENGINE, TURN, 0.5, 5.0),
        compute_mismatch_kl(OLD, ENGINE),
        approx_kl(OLD, ENGINE),
    ):
        assert not found.requires_grad


@given(policy=scores, sampler=scores)
def test_mismatch_kls_use_the_sampling_policy(policy: list[float], sampler: list[float]) -> None:
    _, p, sampled_from = policies(policy, sampler)
    exact = exact_kl(sampled_from, p.detach())
    close((sampled_from.exp() * compute_mismatch_kl(p, sampled_from)).sum(), exact)
    close((sampled_from.exp() * approx_kl(p, sampled_from)).sum(), exact)


def test_clipped_tokens_are_reported() -> None:
    """Ratios 4, 1/4, 1 and 1/2: inside are those from 0.4 to 3. The turns' are 1 and about 0.71."""
    tokens = PolicyTokens(OLD, ENGINE, torch.ones(4), TURN)
    assert Ppo(PpoSettings(clip_low=0.6, clip_high=2.0)).clipped(tokens).tolist() == [1.0, 1.0, 0.0, 0.0]
    assert Cispo(CispoSettings(clip_low=0.6, clip_high=2.0)).clipped(tokens).tolist() == [1.0, 1.0, 0.0, 0.0]
    assert Gspo(GspoSettings(clip_low=0.2, clip_high=0.2)).clipped(tokens).tolist() == [0.0, 0.0, 1.0, 1.0]
    assert Pg(PgSettings(cap=3.0)).clipped(tokens).tolist() == [1.0, 0.0, 0.0, 0.0]  # weights have no lower bound


def test_explained_variance_matches_hand_computation() -> None:
    targets = torch.tensor([0.0, 1.0, 2.0, 3.0])
    assert explained_variance(targets, targets) == 1.0
    assert explained_variance(torch.full((4,), 9.0), targets) == 0.0
    assert explained_variance(-targets, targets) == -3.0
    assert explained_variance(targets / 2, targets) == 0.75
    assert math.isnan(explained_variance(targets, torch.ones(4)))


def test_illegality_is_the_surprise_of_any_legal_token() -> None:
    logits = torch.tensor([[0.0, 1.0, 2.0, -1.0]] * 3, requires_grad=True)
    found = compute_illegality(*at(logits.log_softmax(-1), torch.tensor([[1, 3], [2, -1], [-1, -1]])))
    p = logits.detach().softmax(-1)[0]
    assert found.tolist() == pytest.approx([-math.log(p[1] + p[3]), -math.log(p[2]), 0.0], abs=1e-6)
    (gradient,) = torch.autograd.grad(found.sum(), logits)
    assert (gradient[0, [1, 3]] < 0).all()
    assert (gradient[0, [0, 2]] > 0).all()
    assert gradient[0, 1] / gradient[0, 3] == pytest.approx(float(p[1] / p[3]), rel=1e-5)
    assert not gradient[2].any()
