"""OpenSpiel bots as players, by name and from Python."""

from __future__ import annotations

from typing import Any

import pyspiel
import pytest
from open_spiel.python.bots.uniform_random import UniformRandomBot

import gymposium
from gymposium.errors import BadOption, GymposiumError, UnknownName
from gymposium.games.registry import load_game
from gymposium.match import Guard, MatchJob, play
from gymposium.players.grammar import make_player
from gymposium.players.openspiel_bot import BotPlayer
from gymposium.records import Record, find_first_difference

GAMES = ["tic_tac_toe", "connect_four", "backgammon", "breakthrough", "pig", "othello", "openspiel:oshi_zumo(coins=8)"]


def make_record(game: str, seed: int, opponent: Any = "openspiel-bot:uniform_random", opening: int = 0) -> Record:
    """A match of the player `random` with a bot in the last seat."""
    table = gymposium.Table(game, seats=0, opponents=opponent, seed=seed, opening=opening)
    while table.asked:
        asked = table.asked[0]
        table.answer(0, asked.legal_moves[int(asked.ask.rng.random() * len(asked.legal_moves))])
    return table.record()


@pytest.mark.parametrize("game", GAMES)
def test_bot_matches_are_deterministic_per_seed(game: str) -> None:
    records = [make_record(game, seed) for seed in range(3)]
    assert [record.players[1] for record in records] == ["openspiel-bot:uniform_random"] * 3
    assert [make_record(game, seed).events for seed in range(3)] == [record.events for record in records]
    assert len({str(record.events) for record in records}) > 1
    assert [find_first_difference(record) for record in records] == [None] * 3


@pytest.mark.parametrize("opening", [0, 3])
@pytest.mark.parametrize("game", ["tic_tac_toe", "backgammon", "pig", "connect_four"])
def test_stateful_bot_is_told_of_every_event(game: str, opening: int) -> None:
    """OpenSpiel's stateful bot plays on its own copy of the state, and raises if the copy is not the state."""
    stateful = BotPlayer(pyspiel.make_stateful_random_bot, "openspiel-bot:stateful")
    assert make_record(game, 5, stateful, opening).ending.kind == "over"


def test_python_bots_and_search_bots_play() -> None:
    def searching(game: pyspiel.Game, seat: int, seed: int) -> pyspiel.Bot:
        evaluator = pyspiel.RandomRolloutEvaluator(1, seed)
        return pyspiel.MCTSBot(game, evaluator, 2.0, 50, 10, False, seed, False)

    def in_python(game: pyspiel.Game, seat: int, seed: int) -> pyspiel.Bot:
        import numpy as np

        return UniformRandomBot(seat, np.random.RandomState(seed))

    search, uniform = BotPlayer(searching, "searching"), BotPlayer(in_python, "in-python")
    game = load_game("tic_tac_toe")
    jobs = [MatchJob(str(n), game, [search, uniform], seed=n) for n in range(20)]
    results = list(play(jobs))
    assert sum(result.utilities[0] for result in results) > 5
    assert [result.events for result in play(jobs)] == [result.events for result in results]


def test_parameters_reach_a_bot() -> None:
    table = gymposium.Table("tic_tac_toe", seats=1, opponents="openspiel-bot:fixed_action_preference(actions=4:0)")
    assert table.match.events[0].move == "b2"


def test_bot_failure_is_a_one_line_error() -> None:
    table = gymposium.Table("tic_tac_toe", seats=0, opponents="openspiel-bot:fixed_action_preference(actions=4:8)")
    table.answer(0, "b2")
    with pytest.raises(GymposiumError, match=r"failed in seat 1 of tic_tac_toe: .*No legal actions"):
        table.answer(0, "a1")  # both squares that the bot may take are taken


@pytest.mark.parametrize(
    ("game", "why"),
    [
        ("kuhn_poker", "seats hide something from each other"),
        ("goofspiel", "seats hide something from each other"),
        ("openspiel:dark_hex", "seats hide something from each other"),
        ("negotiation", "it is not a game of OpenSpiel"),
    ],
)
def test_games_that_show_bots_too_much_are_refused(game: str, why: str) -> None:
    with pytest.raises(GymposiumError, match=f"does not play .*{why}"):
        gymposium.Table(game, seats=0, opponents="openspiel-bot:uniform_random", seed=1)


def test_refused_matches_do_not_stop_a_tournament() -> None:
    bot, random = make_player("openspiel-bot:uniform_random"), make_player("random")
    games = [load_game(name) for name in ("tic_tac_toe", "kuhn_poker")]
    jobs = [MatchJob(game.name, game, [random, bot], seed=1) for game in games]
    refused, over = play(jobs, guard=Guard())  # in the order in which they end
    assert over.job.game.name == "tic_tac_toe"
    assert refused.ending.broke_off
    assert refused.events == []
    assert "seats hide something" in refused.ending.detail


def test_unknown_bots_and_parameters_are_refused() -> None:
    with pytest.raises(UnknownName, match="uniform_random"):
        make_player("openspiel-bot:uniform_randon")
    with pytest.raises(UnknownName):
        make_player("openspiel-bot:")
    player = make_player("openspiel-bot:uniform_restricted_actions(policy_name=Nobody)")
    with pytest.raises(BadOption, match="cannot play"):
        gymposium.Table("tic_tac_toe", seats=1, opponents=player)
