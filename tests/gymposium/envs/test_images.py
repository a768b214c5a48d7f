"""Pixels from environments: `observation="image"` and `render_mode="rgb_array"`."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pytest
from gymnasium.spaces import Box
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import RenderCollection
from pettingzoo.test import api_test, parallel_api_test, seed_test

from gymposium import load_game
from gymposium.envs.gym import TextGameEnv
from gymposium.envs.views import Views
from gymposium.errors import MissingExtra
from gymposium.games.pictures.pixels import SIDE, draw_position, render_pixels
from gymposium.replies.reading import get_reader

pytest.importorskip("resvg_py", reason='resvg-py is not installed: pip install "gymposium[images]"')

SHAPE = (SIDE, SIDE, 3)


@pytest.mark.parametrize("env_id", ["TextKuhnPoker-v0", "TextTicTacToe-v0"])
def test_check_env_accepts_images_and_frames(env_id: str) -> None:
    env = gymnasium.make(env_id, observation="image", render_mode="rgb_array")
    assert env.observation_space == Box(0, 255, SHAPE, np.uint8)
    assert "rgb_array" in env.metadata["render_modes"]
    assert env.metadata["render_fps"] == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)


def test_pettingzoos_tests_accept_images() -> None:
    api_test(pettingzoo.make("aec", "TextKuhnPoker-v0", observation="image"), num_cycles=6)
    seed_test(lambda: pettingzoo.make("aec", "TextKuhnPoker-v0", observation="image"), num_cycles=4)
    parallel_api_test(pettingzoo.make("parallel", "TextGoofspiel-v0", num_cards=2, observation="image"), num_cycles=2)


@pytest.mark.parametrize("seat", [0, 1])
def test_worlds_that_look_alike_have_equal_pixels(seat: int) -> None:
    env: Any = gymnasium.make("TextKuhnPoker-v0", seat=seat, observation="image").unwrapped
    seen: dict[str, tuple[bytes, set[str]]] = {}
    for seed in range(20):
        pixels, info = env.reset(seed=seed)
        if "result" not in info:
            before, worlds = seen.setdefault(env.match.view(seat), (pixels.tobytes(), set()))
            assert pixels.tobytes() == before
            worlds.add(str(env.match.events))
    assert max(len(worlds) for _, worlds in seen.values()) > 1
    assert len({pixels for pixels, _ in seen.values()}) > 2


def test_an_image_changes_with_each_decision_in_every_kind_of_environment() -> None:
    env = gymnasium.make("TextTicTacToe-v0", observation="image")
    first, _ = env.reset(seed=0)
    second = env.step("b2")[0]
    envs = gymnasium.make_vec("TextTicTacToe-v0", num_envs=2, observation="image")
    both, _ = envs.reset(seed=[0, 0])
    assert both.shape == (2, *SHAPE)
    assert (both == first).all()
    assert (envs.step(["b2", "b2"])[0] == second).all()
    assert (first != second).any()


def test_a_match_that_breaks_off_gives_a_black_image() -> None:
    views = Views(load_game("tic_tac_toe"), "full", get_reader("move"))
    pixels, info = views.broken(0, "image")
    assert pixels in views.space("image")
    assert not pixels.any()
    assert "broke off" in info["error"]


def test_infos_of_pettingzoo_hold_only_numbers_beside_images() -> None:
    env: Any = pettingzoo.make("aec", "TextTicTacToe-v0", observation="image")
    env.reset(seed=0)
    assert set(env.infos["player_0"]) == {"seat", "action_mask"}


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


def test_pixels_without_the_extra_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment can be made, because stable-baselines3 always asks for frames and seldom uses them."""
    env = TextGameEnv("pig", render_mode="rgb_array")
    env.reset(seed=12)
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(MissingExtra, match=r'pip install "gymposium\[images\]"'):
        env.render()
    with pytest.raises(MissingExtra, match=r'pip install "gymposium\[images\]"'):
        TextGameEnv("pig", observation="image").reset(seed=13)
