"""The environments in TorchRL's wrappers, with the real library: `tox run -m peers` installs it."""

from __future__ import annotations

from typing import Any

import pettingzoo
import pytest

import gymposium  # noqa: F401  (registers the environments)

torchrl_envs = pytest.importorskip("torchrl.envs", reason="torchrl is not installed: tox run -m peers")
check_env_specs = pytest.importorskip("torchrl.envs.utils", reason="torchrl is not installed").check_env_specs

pytestmark = pytest.mark.filterwarnings("default")  # TorchRL's own


@pytest.mark.parametrize("observation", ["tensor", "text"])
def test_gym_env(observation: str) -> None:
    env = torchrl_envs.GymEnv("gymposium:TextTicTacToe-v0", observation=observation)
    check_env_specs(env)
    played = env.rollout(20)
    assert 1 <= len(played) <= 5
    assert played["next", "done"][-1].item()


@pytest.mark.parametrize(
    ("kind", "env_id", "keywords"),
    [
        ("aec", "TextTicTacToe-v0", {}),
        ("aec", "TextConnectFour-v0", {}),
        ("aec", "TextKuhnPoker-v0", {}),
        ("aec", "TextGoofspiel-v0", {"num_cards": 4}),
        ("parallel", "TextGoofspiel-v0", {"num_cards": 4}),
    ],
)
def test_pettingzoo_wrapper(kind: Any, env_id: str, keywords: dict[str, Any]) -> None:
    made = pettingzoo.make(kind, env_id, observation="tensor", **keywords)
    env = torchrl_envs.PettingZooWrapper(made, use_mask=True)
    if env_id != "TextKuhnPoker-v0":  # it asks for an action after three steps, and there a match can be over by then
        check_env_specs(env)
    assert len(env.rollout(30, break_when_any_done=False)) == 30
    for seed in range(5):
        env.set_seed(seed)
        played = env.rollout(100)
        assert played["next", "done"][-1].item()
        match = made.unwrapped.played
        assert match is not None
        assert match.ending.seat is None, "masks leave legal moves alone"
        paid = [played["next", group, "reward"].sum(0).flatten().tolist() for group in env.group_map]
        assert [reward for group in paid for reward in group] == pytest.approx(list(match.returns))
