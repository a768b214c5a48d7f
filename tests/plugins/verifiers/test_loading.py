"""Every registered game and world is a verifiers environment, named by package id and game."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import verifiers.v1 as vf

import gymposium_verifiers
from gymposium.players.grammar import make_player
from gymposium.plugins.host import host
from gymposium.tasks.tools import list_tools
from gymposium_verifiers import ChatHarness, MatchEnv, MatchTaskset, load_environment
from gymposium_verifiers.matches import MatchRow

from .evaluations import ID, MODEL


def test_verifiers_finds_each_component_by_id() -> None:
    assert vf.environment_class(ID) is MatchEnv
    assert vf.load_taskset(vf.taskset_config_type(ID)(id=ID)).__class__ is MatchTaskset
    assert vf.default_harness_id(ID) == ID
    assert vf.harness_config_type(ID) is vf.harness_config_type("someone/gymposium-verifiers@0.1.0")
    assert isinstance(vf.load_harness(vf.harness_config_type(ID)(id=ID)), ChatHarness)
    assert all(hasattr(gymposium_verifiers, name) for name in gymposium_verifiers.__all__)


@pytest.mark.parametrize("name", host().games)
def test_every_game_loads_and_makes_its_first_prompts(name: str) -> None:
    env = vf.load_environment(vf.resolve_env_config({"taskset": {"id": ID, "game": name}}))
    assert isinstance(env, MatchEnv)
    game, random = env.matches.game, {"random": make_player("random")}
    tasks = list(env.taskset.take(game.seats + 1))
    assert [(task.data.seed, task.data.seats) for task in tasks] == [
        *((0, (seat,)) for seat in range(game.seats)),
        (1, (0,)),
    ]
    assert len({task.key for task in tasks}) == len(tasks)
    for task in tasks:
        [seat] = task.data.seats
        table = env.matches.table(MatchRow(task.data.seed, task.data.seats), {seat: MODEL}, random)
        table.advance()
        assert table.error is None
        if table.played is None:  # else it was over before this seat was asked
            [asked] = table.asked
            assert asked.text.startswith(game.rules(seat))
            assert env.matches.calls_tools == bool(list_tools(game))


def test_tasks_start_at_the_seed_with_the_requested_seats() -> None:
    def rows(**settings: Any) -> list[Mapping[str, Any]]:
        env = load_environment("hearts", **settings)
        return [(task.data.seed, task.data.seats) for task in env.taskset.take(3)]

    assert rows(seed=7) == [(7, (0,)), (7, (1,)), (7, (2,))]
    assert rows(seats="all") == [(0, (0, 1, 2, 3)), (1, (0, 1, 2, 3)), (2, (0, 1, 2, 3))]
    assert rows(seats=3) == rows(seats="3") == rows(seats=[3]) == [(0, (3,)), (1, (3,)), (2, (3,))]
    assert rows(seats="2,0") == rows(seats=[0, 2]) == [(0, (0, 2)), (1, (0, 2)), (2, (0, 2))]


def test_tasks_are_endless_and_selectable() -> None:
    env = load_environment("kuhn_poker")
    assert not env.taskset.bounded
    chosen = env.taskset.include(idx=["4:6"])
    assert [(task.data.idx, task.data.seed, task.data.seats) for task in chosen] == [(4, 2, (0,)), (5, 2, (1,))]
    assert [task.data.name for task in chosen] == ["kuhn_poker seed=2 seats=0", "kuhn_poker seed=2 seats=1"]


def test_unworded_openspiel_games_are_available() -> None:
    env = load_environment("openspiel:nim", opponents="mcts-10")
    assert env.matches.game.name.startswith("openspiel:nim")
