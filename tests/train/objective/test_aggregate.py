"""Aggregation: the chosen mean, with the same gradient for every split into micro-batches."""

from __future__ import annotations

import random

import pytest
import torch
from hypothesis import given, strategies as st
from torch import Tensor

from gymposium.errors import BadOption
from gymposium_train.objective.aggregate import compute_turn_weights
from gymposium_train.objective.cispo import Cispo, CispoSettings
from gymposium_train.objective.gspo import Gspo, GspoSettings
from gymposium_train.objective.ppo import Ppo, PpoSettings
from gymposium_train.objective.protocol import Aggregation, Objective, PolicyTokens

CLIPPED: list[Objective] = [
    Ppo(PpoSettings(clip_low=0.2, clip_high=0.3)),
    Gspo(GspoSettings(clip_low=0.2, clip_high=0.3)),
    Cispo(CispoSettings(clip_low=0.2, clip_high=0.3)),
]
HOW: tuple[Aggregation, ...] = ("token", "turn", "sequence", 10.0)
TURNS = [(7, 1), (7, 3), (4, 2)]
"""Trajectory 7 has turns of 1 and 3 tokens, trajectory 4 one of 2."""


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("token", [1 / 6, 1 / 6, 1 / 6]),
        ("turn", [1 / 3, 1 / 9, 1 / 6]),
        ("sequence", [1 / 8, 1 / 8, 1 / 4]),
        (10.0, [1 / 20, 1 / 20, 1 / 20]),
    ],
)
def test_weights_match_hand_computation(how: Aggregation, expected: list[float]) -> None:
    assert compute_turn_weights(TURNS, how) == pytest.approx(expected)


turns_of_a_step = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 6)), min_size=1, max_size=8)


@given(turns=turns_of_a_step, seed=st.integers(0, 2**20))
def test_weights_match_the_named_mean(turns: list[tuple[int, int]], seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    losses = [torch.rand(tokens, generator=generator, dtype=torch.float64) for _, tokens in turns]
    trajectories: dict[int, list[Tensor]] = {}
    for (trajectory, _), loss in zip(turns, losses, strict=True):
        trajectories.setdefault(trajectory, []).append(loss)
    whole = [torch.cat(parts) for parts in trajectories.values()]
    expected = {
        "token": torch.cat(losses).mean(),
        "turn": torch.stack([loss.mean() for loss in losses]).mean(),
        "sequence": torch.stack([loss.mean() for loss in whole]).mean(),
        10.0: torch.stack([loss.sum() / 10.0 for loss in whole]).mean(),
    }
    for how in HOW:
        weights = compute_turn_weights(turns, how)
        found = sum((w * loss.sum() for w, loss in zip(weights, losses, strict=True)), torch.zeros(()))
        torch.testing.assert_close(found, expected[how])


@given(
    turns=turns_of_a_step,
    order=st.randoms(use_true_random=False),
    parts=st.integers(1, 4),
    how=st.sampled_from(HOW),
    objective=st.sampled_from(CLIPPED),
)
def test_micro_batch_splits_give_the_same_gradient(
    turns: list[tuple[int, int]], order: random.Random, parts: int, how: Aggregation, objective: Objective
) -> None:
    """A policy of three parameters in float64, with turns in random micro-batches and random order."""
    generator = torch.Generator().manual_seed(len(turns))
    features = [torch.randn(tokens, 3, generator=generator, dtype=torch.float64) for _, tokens in turns]
    olds = [-torch.rand(tokens, generator=generator, dtype=torch.float64) for _, tokens in turns]
    advantages = torch.randn(len(turns), generator=generator, dtype=torch.float64)
    weights = compute_turn_weights(turns, how)

    def compute_gradient(micro_batches: list[list[int]]) -> Tensor:
        theta = torch.tensor([0.3, -0.2, 0.5], dtype=torch.float64, requires_grad=True)
        for members in micro_batches:
            if not members:
                continue
            turn = torch.cat([torch.full((turns[i][1],), n) for n, i in enumerate(members)])
            logprobs = torch.nn.functional.logsigmoid(torch.cat([features[i] for i in members]) @ theta)
            old = torch.cat([olds[i] for i in members])
            losses = objective(PolicyTokens(logprobs, old, advantages[members][turn], turn))
            weight = torch.tensor([weights[i] for i in members], dtype=torch.float64)[turn]
            (weight * losses).sum().backward()
        assert theta.grad is not None
        return theta.grad

    shuffled = list(range(len(turns)))
    order.shuffle(shuffled)
    cut: list[list[int]] = [[] for _ in range(parts)]
    for i in shuffled:
        cut[order.randrange(parts)].append(i)
    torch.testing.assert_close(
        compute_gradient(cut), compute_gradient([list(range(len(turns)))]), rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize("how", HOW)
def test_empty_step_has_no_weights(how: Aggregation) -> None:
    assert compute_turn_weights([], how) == []


def test_invalid_arguments_are_refused() -> None:
    with pytest.raises(BadOption, match="above 0"):
        compute_turn_weights(TURNS, 0.0)
    with pytest.raises(BadOption, match="without sampled tokens"):
        compute_turn_weights([(0, 0)], "token")
