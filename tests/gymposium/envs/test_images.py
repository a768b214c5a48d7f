"""Pixels from environments: `render_mode="rgb_array"`."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import RenderCollection

from gymposium.envs.gym import TextGameEnv
from gymposium.errors import MissingExtra
from gymposium.games.pictures.pixels import SIDE, draw_position, render_pixels

pytest.importorskip("resvg_py", reason='resvg-py is not installed: pip install "gymposium[images]"')

SHAPE = (SIDE, SIDE, 3)


@pytest.mark.parametrize("env_id", ["TextKuhnPoker-v0", "TextTicTacToe-v0"])
def test_check_env_accepts_frames(env_id: str) -> None:
    env = gymnasium.make(env_id, render_mode="rgb_array")
    assert "rgb_array" in env.metadata["render_modes"]
    assert env.metadata["render_fps"] == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)


def test_a_frame_is_the_learners_view() -> None:
    env: Any = gymnasium.make("TextKuhnPoker-v0", seat=1, render_mode="rgb_array").unwrapped
    env.reset(seed=1)
    assert (env.render() == render_pixels(draw_position(env.match, 1))).all()
    assert (env.render() != render_pixels(draw_position(env.match, 0))).any()


def test_frames_of_an_episode_can_be_collected() -> None:
    env = RenderCollection(gymnasium.make("TextTicTacToe-v0", render_mode="rgb_array"))
    env.reset(seed=0)
    env.step(0)
    before, after = env.render()
    assert before.shape == after.shape == SHAPE
    assert (before != after).any()


def test_vector_environments_render_each_match() -> None:
    envs = gymnasium.make_vec("TextTicTacToe-v0", num_envs=2, render_mode="rgb_array")
    envs.reset(seed=0)
    envs.step(np.array([0, 4]))
    one, other = envs.render()
    assert one.shape == SHAPE
    assert (one != other).any()


def test_pettingzoo_renders_the_seat_to_move_or_all_seats() -> None:
    aec: Any = pettingzoo.make("aec", "TextKuhnPoker-v0", render_mode="rgb_array")
    aec.reset(seed=1)
    assert aec.render().shape == SHAPE
    parallel: Any = pettingzoo.make("parallel", "TextGoofspiel-v0", render_mode="rgb_array")
    parallel.reset(seed=1)
    left, right = np.hsplit(parallel.render(), 2)
    assert left.shape == right.shape == SHAPE


def test_rendering_without_the_extra_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment can be made, because stable-baselines3 always asks for frames and seldom uses them."""
    env = TextGameEnv("pig", render_mode="rgb_array")
    env.reset(seed=12)
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(MissingExtra, match=r'pip install "gymposium\[images\]"'):
        env.render()
