"""The chunked head matches the values and gradients of the full distribution."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from gymposium_train.learner import head as room
from gymposium_train.learner.head import Head

PLACES, HIDDEN, VOCABULARY = 11, 6, 23


def make_head(
    *, bias: bool = False, dtype: torch.dtype = torch.float64, **settings: Any
) -> tuple[Head, Tensor, Tensor]:
    """A head, hidden states [N, H] and tokens [N, 3], some of which are missing (-1)."""
    generator = torch.Generator().manual_seed(0)

    def drawn(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=dtype)

    layer = nn.Linear(HIDDEN, VOCABULARY, bias=bias, dtype=dtype)
    for parameter in layer.parameters():
        parameter.data = drawn(*parameter.shape)
    ids = torch.randint(-1, VOCABULARY, (PLACES, 3), generator=generator)
    ids[:, 0] = ids[:, 0].clamp(min=0)
    ids[0, 2] = ids[0, 1] = ids[0, 0]  # the same token more than once
    return Head(layer, VOCABULARY, **settings), drawn(PLACES, HIDDEN).requires_grad_(), ids


def compute_with_autograd(head: Head, states: Tensor, ids: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """The log-probabilities and the entropies by autograd alone."""
    logits = head.layer(states).float() * head.scale
    if head.softcap is not None:
        logits = head.softcap * torch.tanh(logits / head.softcap)
    scores = torch.log_softmax(logits / temperature, dim=-1)
    return scores.gather(-1, ids.clamp(min=0)).masked_fill(ids < 0, 0.0), -(scores.exp() * scores).sum(-1)


@pytest.mark.parametrize("pieces", [1, 4])
@pytest.mark.parametrize("temperature", [1.0, 0.7])
@pytest.mark.parametrize("settings", [{}, {"bias": True}, {"scale": 0.3}, {"softcap": 1.5, "scale": 2.0}])
def test_values_and_gradients_match_the_full_distribution(
    settings: dict[str, Any], temperature: float, pieces: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "LOGIT_BYTES", 8 * VOCABULARY * -(-PLACES // pieces))
    head, states, ids = make_head(**settings)
    weights = torch.linspace(-1.0, 2.0, ids.numel()).reshape(ids.shape)
    wanted, entropies = compute_with_autograd(head, states, ids, temperature)
    learned = [states, *head.layer.parameters()]
    expected = torch.autograd.grad((wanted * weights).square().sum(), learned)
    found, entropy = head.logprobs(states, ids, temperature=temperature, entropy=True)
    torch.testing.assert_close(found, wanted, atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(entropy, entropies, atol=1e-6, rtol=1e-6)
    got = torch.autograd.grad((found * weights).square().sum(), learned)
    for mine, other in zip(got, expected, strict=True):
        torch.testing.assert_close(mine, other, atol=2e-5, rtol=1e-5)
    assert head.logprobs(states, ids)[1] is None


def test_frozen_head_gives_only_state_gradients() -> None:
    head, states, ids = make_head(dtype=torch.float32)
    head.layer.requires_grad_(False)
    expected = torch.autograd.grad(compute_with_autograd(head, states, ids, 1.0)[0].sum(), states)
    torch.testing.assert_close(torch.autograd.grad(head.logprobs(states, ids)[0].sum(), states), expected)


def test_gradient_in_16_bits_does_not_depend_on_chunking(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(1)
    layer = nn.Linear(HIDDEN, VOCABULARY, bias=True, dtype=torch.bfloat16)
    states = torch.randn(600, HIDDEN, generator=generator).to(torch.bfloat16).abs()
    ids = torch.randint(0, 3, (600, 1), generator=generator)

    def gradients(layer: nn.Linear, states: Tensor) -> list[Tensor]:
        found = Head(layer, VOCABULARY).logprobs(states, ids)[0]
        return [of.float() for of in torch.autograd.grad(found.sum(), [*layer.parameters()])]

    exact = gradients(copy.deepcopy(layer).float(), states.float())
    monkeypatch.setattr(room, "LOGIT_BYTES", 8 * VOCABULARY * 4)  # 150 pieces
    for mine, wanted in zip(gradients(layer, states), exact, strict=True):
        assert (mine - wanted).abs().max() <= 0.004 * wanted.abs().max()


def test_results_in_16_bits_differ_only_by_rounding() -> None:
    head, states, ids = make_head(dtype=torch.bfloat16)
    learned = [states, head.layer.weight]
    wanted = compute_with_autograd(head, states, ids, 1.0)[0]
    expected = torch.autograd.grad(wanted.sum(), learned)
    found = head.logprobs(states, ids)[0]
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, wanted)
    for mine, other in zip(torch.autograd.grad(found.sum(), learned), expected, strict=True):
        assert mine.dtype == torch.bfloat16
        assert (mine - other).abs().max() <= 0.02 * other.abs().max()
