"""Gymnasium's checker for each kind of observation, reply and prompt. The conformance kit runs it on every game."""

from __future__ import annotations

import warnings
from itertools import product

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, MultiBinary
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import FilterObservation

from gymposium import load_game
from gymposium.envs.spaces import Moves, UnicodeText
from gymposium.plugins.host import host

GAMES = ["connect_four", "goofspiel", "kuhn_poker", "leduc_poker", "tic_tac_toe"]


@pytest.mark.parametrize("name", GAMES)
def test_every_observation_and_reply_passes_without_warnings(name: str) -> None:
    spec = host().games[name]
    for kind, reply, prompt in product(("text", "dict", "tensor"), ("move", "tags", "json"), ("full", "compact")):
        env = gymnasium.make(spec.env_id, observation=kind, reply=reply, prompt=prompt)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("seat", [1, "random"])
def test_second_seat_passes_too(name: str, seat: int | str) -> None:
    env = gymnasium.make(host().games[name].env_id, seat=seat, on_illegal="penalty(0.5)")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)


@pytest.mark.parametrize("name", GAMES)
def test_spaces_are_those_learners_expect(name: str) -> None:
    game, env_id = load_game(name), host().games[name].env_id
    shape = game.tensor_shape
    assert isinstance(gymnasium.make(env_id).observation_space, UnicodeText)
    tensor = gymnasium.make(env_id, observation="tensor")
    assert isinstance(tensor.observation_space, Box)
    assert (tensor.observation_space.shape, tensor.observation_space.dtype) == (shape, np.float32)
    everything = gymnasium.make(env_id, observation="dict")
    space = everything.observation_space
    assert isinstance(space, Dict)
    assert list(space) == ["action_mask", "observation", "text"]
    assert space["action_mask"] == MultiBinary(game.num_actions)
    assert isinstance(everything.action_space, Moves)
    assert everything.action_space.n == game.num_actions
    numbers = FilterObservation(everything, ["observation", "action_mask"])
    seen, _ = numbers.reset(seed=1)
    assert set(seen) == {"observation", "action_mask"}
    assert seen["observation"].shape == shape
