"""All puzzles: instances are solvable, solvers solve them, and the views of hidden secrets keep them hidden."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest
from tests.commands import run_command

from gymposium import load_game, make_player
from gymposium.games.rules import RulesGame, Style
from gymposium.match import MatchJob, play
from gymposium.match.failures import FailurePolicy
from gymposium.players.protocol import Ask, Reply
from gymposium.replies.prompt import get_prompt
from gymposium.replies.reading import READERS
from gymposium_puzzles.plugin import gymposium_games
from gymposium_puzzles.solver import HasSolver

SPECS = {spec.name: spec for spec in gymposium_games()}
INSTANCES = 20
LEAST_SOLVED: dict[str, float] = {"bandit": 0.7, "frozen_lake": 0.7, "hangman": 0.8, "maze": -30.0, "wordle": 0.85}
"""Least mean return of the solver, in games where luck can prevent a solution or moves cost points."""
NAMES = [spec.full_name(spec.check_params(params)) for spec in SPECS.values() for params in spec.examples]


def play_all(name: str, player: str) -> list[float]:
    game = load_game(name)
    jobs = [MatchJob(str(seed), game, [make_player(player)], seed, player_seed=seed) for seed in range(INSTANCES)]
    return [played.returns[0] for played in play(jobs)]


@pytest.mark.parametrize("name", NAMES)
def test_solver_solves_every_instance(name: str) -> None:
    returns = play_all(name, "solver")
    kind = name.partition("(")[0]
    assert sum(returns) / len(returns) >= LEAST_SOLVED.get(kind, 1.0)
    assert sum(play_all(name, "random")) < sum(returns)


@pytest.mark.parametrize("name", [name for name in NAMES if SPECS[name.partition("(")[0]].information == "imperfect"])
def test_solver_ignores_the_secret(name: str) -> None:
    game = load_game(name)
    assert isinstance(game, RulesGame)
    match = game.new(1)
    world = next(other for seed in range(2, 50) if (other := game.new(seed)).state != match.state)
    assert match.view(0) == world.view(0)
    rules = cast(HasSolver, game.author)
    assert rules.solve(match.state) == rules.solve(world.state)


@pytest.mark.parametrize("name", SPECS)
def test_presets_and_best_play_are_given(name: str) -> None:
    assert SPECS[name].best_play
    for params in SPECS[name].presets.values():
        load_game(name, **params)


def test_prompts_show_the_form_of_many_moves() -> None:
    observation = load_game("guess_number").new(1).observe(0)
    prompt = get_prompt(load_game("guess_number"), "full", READERS["move"])(observation)
    assert len(observation.legal_moves or ()) == 50
    assert "\nLegal moves: a number from 1 to 50\n" in prompt
    assert "17" not in prompt
    assert "legal a number from 1 to 50\n" in load_game("guess_number").new(1).observe(0, "compact").text


class Stubborn:
    """A player that always answers 51 and keeps the reasons why not."""

    name = "stubborn"
    reader = READERS["move"]
    style: Style = "full"

    def __init__(self) -> None:
        self.reasons: list[str | None] = []

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        self.reasons += [ask.reason for ask in asks]
        return [Reply("51") for _ in asks]


def test_rejections_show_the_form_of_many_moves() -> None:
    player = Stubborn()
    list(play([MatchJob("m", load_game("guess_number"), [player], 0, on_illegal=FailurePolicy("retry", 1))]))
    assert player.reasons == [None, "The reply could not be read. Legal moves: a number from 1 to 50."]


def test_few_moves_are_listed() -> None:
    game = load_game("guess_number", most=4)
    assert "\nLegal moves: 1, 2, 3, 4\n" in get_prompt(game, "full", READERS["move"])(game.new(1).observe(0))


def test_list_shows_one_family(tmp_path: Path) -> None:
    listed = json.loads(run_command("list", "--family", "puzzles", "--json", folder=tmp_path, env=os.environ).stdout)[
        "games"
    ]
    assert {"2048", *SPECS} == {game["name"] for game in listed}
    failed = run_command("list", "--family", "puzzle", folder=tmp_path, env=os.environ)
    assert failed.returncode == 2
    assert "Did you mean 'puzzles'?" in failed.stderr
