"""The recipe in the style of CleanRL, which needs only torch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from gymposium.envs.vector import TextGameVectorEnv
from gymposium.match import MatchResult

torch = pytest.importorskip("torch", reason="torch is not installed")


def test_update_learns_from_legal_matches(
    program: Callable[[str], Any],
    monkeypatch: pytest.MonkeyPatch,
    replies_of_learner: Callable[[list[MatchResult]], int],
) -> None:
    ended: list[MatchResult] = []
    step = TextGameVectorEnv.step

    def noted(envs: TextGameVectorEnv, actions: Any) -> Any:
        outcome = step(envs, actions)
        ended.extend(envs.ended)
        return outcome

    monkeypatch.setattr(TextGameVectorEnv, "step", noted)
    torch.manual_seed(0)
    recipe = program("cleanrl_ppo")
    envs = recipe.make_envs(8)
    agent = recipe.Agent(envs)
    before = {name: weights.clone() for name, weights in agent.state_dict().items()}
    batch, after = recipe.play(envs, agent, num_steps=64)
    assert batch.rewards.shape == (64, 8)
    assert batch.rewards[batch.rewards != 0].numel() > 50
    assert len(ended) > 100
    assert 64 * 8 - 8 * 5 <= replies_of_learner(ended) <= 64 * 8  # the last match of each environment goes on
    advantages = recipe.compute_advantages(batch, after)
    assert math.isfinite(recipe.update(agent, batch, advantages))
    assert not any(weights.equal(before[name]) for name, weights in agent.state_dict().items())


def test_advantages_stop_at_the_end_of_a_match(program: Callable[[str], Any]) -> None:
    recipe = program("cleanrl_ppo")
    rewards = torch.tensor([[0.0], [1.0], [0.0], [-1.0]])
    first = torch.tensor([[1.0], [0.0], [1.0], [0.0]])
    nothing = torch.zeros(4, 1)
    batch = recipe.Batch(nothing, nothing, nothing, nothing, torch.full((4, 1), 0.5), rewards, first)
    found = recipe.compute_advantages(batch, torch.zeros(1), gamma=1.0, gae_lambda=1.0)
    assert found.flatten().tolist() == [0.5, 0.5, -1.5, -1.5]
