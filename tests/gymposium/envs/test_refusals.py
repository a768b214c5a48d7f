"""Misuse of environments raises Gymnasium's and PettingZoo's own errors, with advice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import pettingzoo
import pytest
from gymnasium.error import ClosedEnvironmentError, InvalidAction, ResetNeeded

from gymposium import load_game
from gymposium.envs.aec import TextGameAECEnv
from gymposium.envs.gym import TextGameEnv
from gymposium.envs.parallel import TextGameParallelEnv
from gymposium.errors import BadOption, BadParameter

ENVIRONMENTS: dict[str, Callable[[], Any]] = {
    "gymnasium": lambda: TextGameEnv("goofspiel", render_mode="ansi"),
    "aec": lambda: TextGameAECEnv("goofspiel", render_mode="ansi"),
    "parallel": lambda: TextGameParallelEnv("goofspiel", render_mode="ansi"),
}
ACTION = {"gymnasium": "bid 1", "aec": "bid 1", "parallel": {"player_0": 0, "player_1": 0}}


@pytest.mark.parametrize("kind", ENVIRONMENTS)
def test_closed_environment_is_an_error(kind: str) -> None:
    env = ENVIRONMENTS[kind]()
    env.reset(seed=0)
    events = env.match.events
    env.close()
    env.close()
    for use in (env.reset, env.render, lambda: env.step(ACTION[kind])):
        with pytest.raises(ClosedEnvironmentError, match="Make a new one"):
            use()
    assert env.match.events is events  # the match can still be read


@pytest.mark.parametrize("kind", ENVIRONMENTS)
def test_step_and_render_need_a_reset(kind: str) -> None:
    env = ENVIRONMENTS[kind]()
    for use in (env.render, lambda: env.step(ACTION[kind])):
        with pytest.raises(ResetNeeded, match=r"reset\(\)"):
            use()


@pytest.mark.parametrize("kind", ENVIRONMENTS)
def test_unknown_reset_option_is_named(kind: str) -> None:
    env = ENVIRONMENTS[kind]()
    told = "Unknown reset option 'sead'" if kind == "gymnasium" else "no options here. Remove 'sead'"
    with pytest.raises(BadOption, match=told):
        env.reset(options={"sead": 1})
    with pytest.raises(BadOption, match="must be a dict"):
        env.reset(options="seat")
    env.reset(seed=0, options={})
    env.reset(seed=0, options=None)


def test_seat_can_be_chosen_at_reset() -> None:
    env = gymnasium.make("TextTicTacToe-v0", seat=0)
    assert [env.reset(seed=0, options={"seat": 1})[1]["seat"], env.reset(seed=0)[1]["seat"]] == [1, 0]
    drawn = {env.reset(seed=seed, options={"seat": "random"})[1]["seat"] for seed in range(20)}
    assert drawn == {0, 1}
    with pytest.raises(BadOption, match="seat=2 must be a seat from 0 to 1, or 'random'"):
        env.reset(options={"seat": 2})


def test_pettingzoo_wrappers_reject_wrong_call_order() -> None:
    env = pettingzoo.make("aec", "TextTicTacToe-v0")
    with pytest.raises(AssertionError, match="before step"):
        env.step("b2")
    env.reset(seed=0)
    env.step("nonsense")
    with pytest.raises(ValueError, match="when an agent is dead, the only valid action is None"):
        env.step("b2")
    with pytest.raises(BadOption, match=r"Unknown agent 'player_2'\. tic_tac_toe has player_0, player_1"):
        env.observe("player_2")


def test_unknown_agents_are_refused_in_parallel_actions() -> None:
    env = TextGameParallelEnv("goofspiel")
    env.reset(seed=0)
    with pytest.raises(InvalidAction, match=r"Unknown agents: player_2\. The agents are player_0, player_1"):
        env.step({"player_0": 0, "player_1": 0, "player_2": 0})
    with pytest.raises(InvalidAction, match="Missing actions for player_1"):
        env.step({"player_0": 0})
    assert all(event.seat < 0 for event in env.match.events)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("goofspiel(num_cards=99)", "num_cards=99: must be from 2 to 16"),
        ("goofspiel(num_cards=two)", "num_cards='two': must be of type int"),
        ("goofspiel(points_order=up)", "points_order='up': must be one of random, ascending, descending"),
        ("goofspiel(num_card=4)", "'num_cards'"),
        ("chess(size=4)", "chess has no parameters. Remove 'size'"),
        ("openspiel:hex(bord_size=4)", "bord_size"),
        ("openspiel:hex(board_size=big)", "board_size"),
    ],
)
def test_invalid_parameter_error_shows_the_value(name: str, told: str) -> None:
    with pytest.raises(BadParameter, match=told.replace("(", r"\(")):
        load_game(name)


def test_keyword_parameters_are_validated_too() -> None:
    with pytest.raises(BadParameter, match="num_cards=99: must be from 2 to 16"):
        gymnasium.make("TextGoofspiel-v0", num_cards=99)
    with pytest.raises(BadParameter, match="board_size"):
        TextGameEnv("openspiel:hex", bord_size=4)


@pytest.mark.parametrize(
    "make", [gymnasium.make, lambda *of, **more: pettingzoo.make("aec", *of, **more)], ids=["gymnasium", "pettingzoo"]
)
def test_unknown_keyword_raises_pythons_type_error(make: Callable[..., Any]) -> None:
    """TorchRL's `GymEnv` passes `frameskip`, and drops it after a TypeError about an unexpected argument."""
    with pytest.raises(TypeError, match=r"__init__\(\) got an unexpected keyword argument 'frameskip'") as found:
        make("gymposium:TextTicTacToe-v0" if make is gymnasium.make else "TextTicTacToe-v0", frameskip=1)
    assert isinstance(found.value, BadParameter)
    with pytest.raises(BadParameter, match="Did you mean 'observation'"):
        make("TextTicTacToe-v0", observatio="tensor")


def test_text_spaces_refuse_stable_baselines3() -> None:
    """The attributes that its `obs_space_info` reads; tests/plugins/test_sb3.py runs the library itself."""
    for observation, told in (("text", True), ("tensor", False)):
        space = gymnasium.make("TextTicTacToe-v0", observation=observation).observation_space
        if told:
            with pytest.raises(BadOption, match="observation='tensor'"):
                hasattr(space, "spaces")
        else:
            assert not hasattr(space, "spaces")
