"""The recipe for Tianshou, with the real library: `tox run -e tianshou` installs it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pettingzoo
import pytest

import gymposium  # noqa: F401  (registers the environments)
from gymposium.match import MatchResult

tianshou = pytest.importorskip("tianshou", reason="tianshou is not installed: tox run -e tianshou")

pytestmark = pytest.mark.filterwarnings("default")  # Tianshou's own


def test_update_learns_from_complete_legal_matches(
    program: Callable[[str], Any],
    matches: list[MatchResult],
    replies_of_learner: Callable[[list[MatchResult]], int],
) -> None:
    recipe = program("tianshou_dqn")
    algorithm = recipe.make_algorithm()
    before = {name: weights.clone() for name, weights in algorithm.policy.state_dict().items()}
    buffer, learned = recipe.train(algorithm, matches=32)
    assert len(matches) == 32
    assert len(buffer) == replies_of_learner(matches)
    assert int(buffer.done.sum()) == 32
    assert math.isfinite(learned.loss)
    after = algorithm.policy.state_dict()
    assert not any(weights.equal(after[name]) for name, weights in before.items())


def test_pettingzoo_wrapper_pays_only_own_moves() -> None:
    """As the page says."""
    from tianshou.env import PettingZooEnv

    env = PettingZooEnv(pettingzoo.make("aec", "TextTicTacToe-v0"))
    seen, _ = env.reset(seed=1)
    paid, over = {"player_0": 0.0, "player_1": 0.0}, False
    while not over:
        agent, action = seen["agent_id"], seen["mask"].index(True)
        seen, rewards, over, _, _ = env.step(action)
        paid[agent] += rewards[env.agent_idx[agent]]
    assert env.env.unwrapped.played.returns == (1.0, -1.0)
    assert paid == {"player_0": 1.0, "player_1": 0.0}
