"""The recipe for RLlib, with the real library: `tox run -e rllib` installs it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gymposium.match import MatchResult

ray = pytest.importorskip("ray", reason="ray is not installed: tox run -e rllib")
pytest.importorskip("ray.rllib", reason="ray[rllib] is not installed: tox run -e rllib")

pytestmark = pytest.mark.filterwarnings("default")  # Ray's own


@pytest.fixture
def algorithm(program: Callable[[str], Any], matches: list[MatchResult]) -> Iterator[Any]:
    ray.init(num_cpus=2, include_dashboard=False)
    built = program("rllib_ppo").config().build_algo()
    yield built
    built.stop()
    ray.shutdown()


def test_step_learns_from_complete_legal_matches(
    algorithm: Any, matches: list[MatchResult], replies_of_learner: Callable[[list[MatchResult]], int]
) -> None:
    before = {name: weights.clone() for name, weights in algorithm.get_module().state_dict().items()}
    learned = algorithm.train()
    played, losses = learned["env_runners"], learned["learners"]["default_policy"]
    assert played["num_episodes"] == len(matches) > 10
    assert played["num_env_steps_sampled"] == replies_of_learner(matches) >= 64
    assert losses["num_module_steps_trained"] >= 128
    assert math.isfinite(losses["total_loss"])
    after = algorithm.get_module().state_dict()
    assert before.keys() == after.keys()
    assert any(not weights.equal(after[name]) for name, weights in before.items())
