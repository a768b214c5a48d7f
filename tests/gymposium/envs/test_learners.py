"""Learners without text support train for a few updates on the environments, without adapters."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.wrappers import FilterObservation
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.env_util import make_vec_env

import gymposium  # noqa: F401 (registers the ids)

FEW: dict[str, Any] = {"n_steps": 64, "batch_size": 32, "n_epochs": 1, "seed": 0, "device": "cpu"}


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


# Of a board of planes it would warn that it is no image.
@pytest.mark.parametrize("env_id", ["TextKuhnPoker-v0", "TextLeducPoker-v0", "TextGoofspiel-v0"])
def test_stable_baselines_checker_passes(env_id: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(env_id, observation="tensor", on_illegal="random"), warn=True)


def test_ppo_learns_from_tensors() -> None:
    env = gymnasium.make("TextTicTacToe-v0", observation="tensor", on_illegal="penalty(0.1,10)")
    model = PPO("MlpPolicy", env, **FEW)
    before = [parameter.clone() for parameter in model.policy.parameters()]
    model.learn(128)
    assert model.num_timesteps == 128
    assert any((a != b).any() for a, b in zip(before, model.policy.parameters(), strict=True))
    earned = {round(episode["r"] * 10) for episode in model.ep_info_buffer or ()}
    assert earned
    assert all(-20 <= tenths <= 10 for tenths in earned)


def test_maskable_ppo_plays_only_legal_moves() -> None:
    env = gymnasium.make("TextConnectFour-v0", observation="tensor", seat="random")
    model = MaskablePPO("MlpPolicy", env, **FEW)
    assert is_masking_supported(model.get_env())  # type: ignore[arg-type]
    model.learn(192)
    vec: Any = model.get_env()
    seen = vec.reset()
    for _ in range(60):
        masks = get_action_masks(vec)
        actions, _ = model.predict(seen, action_masks=masks)
        assert masks[0][actions[0]]
        seen, _, over, infos = vec.step(actions)
        assert infos[0]["reading"] == "move"
        assert over[0] == ("result" in infos[0])


def test_multi_input_policy_learns_from_dicts_without_text() -> None:
    env = FilterObservation(
        gymnasium.make("TextLeducPoker-v0", observation="dict", on_illegal="random"), ["observation", "action_mask"]
    )
    model = PPO("MultiInputPolicy", env, **FEW)
    model.learn(64)
    action, _ = model.predict(env.reset(seed=1)[0], deterministic=True)
    assert env.action_space.contains(action.item())


@pytest.mark.filterwarnings("ignore:.*initialised with render_mode='rgb_array'")  # the mode that it tries first
def test_sb3_vector_environments_accept_the_ids() -> None:
    venv = make_vec_env("TextKuhnPoker-v0", n_envs=4, seed=3, env_kwargs={"observation": "tensor"})
    MaskablePPO("MlpPolicy", venv, **FEW).learn(256)
    masks = np.stack(venv.env_method("action_masks"))
    assert masks.shape == (4, 2)
