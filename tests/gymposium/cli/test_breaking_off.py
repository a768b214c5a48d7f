"""`gymposium run` with a failing engine and an unresponsive player: output and records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.gymposium.cli.conftest import Run

FRAGILE = '''
"""Tic-tac-toe whose engine fails in the fifth match; players that wait for ever, have no space to answer, or refuse."""
import threading

from gymposium import GameSpec, OpponentSpec, hookimpl
from gymposium.errors import GymposiumError
from gymposium.games.openspiel.adapter import OpenSpielGame, load_engine_game
from gymposium.games.lines.tic_tac_toe import TicTacToe
from gymposium.players.protocol import Reply
from gymposium.replies.reading import READERS


class Game(OpenSpielGame):
    begun = 0

    def new(self, seed):
        self.begun += 1
        match = super().new(seed)
        return Broken(match) if self.begun == 5 else match


class Broken:
    def __init__(self, match):
        self.match = match

    def __getattr__(self, name):
        return getattr(self.match, name)

    def apply(self, moves):
        if len(self.match.events) == 3:
            raise RuntimeError("out of ink")
        self.match.apply(moves)


def game(spec, params):
    return Game(spec, params, load_engine_game("tic_tac_toe", {}), TicTacToe())


class Asleep:
    name, reader, style = "asleep", READERS["move"], "compact"

    def act(self, asks):
        threading.Event().wait()


class Full:
    name, reader, style = "full", READERS["move"], "compact"

    def act(self, asks):
        return [Reply("", "context") if ask.turn else Reply(ask.legal_moves[0]) for ask in asks]


class Choosy(Asleep):
    name = "choosy"

    def check_game(self, game):
        raise GymposiumError(f"choosy does not play {game.name}.")


@hookimpl
def gymposium_games():
    yield GameSpec(name="fragile", title="F", summary="F.", entry_point="fragile:game")


@hookimpl
def gymposium_opponents():
    yield OpponentSpec(name="asleep", form="asleep", pattern="asleep", summary="A.", entry_point="fragile:Asleep")
    yield OpponentSpec(name="full", form="full", pattern="full", summary="F.", entry_point="fragile:Full")
    yield OpponentSpec(name="choosy", form="choosy", pattern="choosy", summary="C.", entry_point="fragile:Choosy")
'''


@pytest.mark.parametrize("schedule", ["rounds", "streaming"])
def test_engine_failure_keeps_finished_matches(gymposium: Run, tmp_path: Path, schedule: str) -> None:
    (tmp_path / "fragile.py").write_text(FRAGILE)
    options = ("--players", "random,random", "--out", "m", "--schedule", schedule)
    done = gymposium("--plugin", "fragile.py", "run", "fragile", *options)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "The engine of fragile failed in match run-" in done.stderr
    assert "RuntimeError: out of ink" in done.stderr
    assert "fragile.py replay m/matches.jsonl" in done.stderr
    lines = [json.loads(line) for line in (tmp_path / "m/matches.jsonl").read_text().splitlines()]
    broken = [line for line in lines if line["ending"]["kind"] == "broke off"]
    assert [len(line["events"]) for line in broken] == [3]
    checked = gymposium("--plugin", "fragile.py", "verify", "m/matches.jsonl")
    assert checked.returncode == 1
    assert "The match broke off: RuntimeError: out of ink" in checked.stdout
    shown = gymposium("--plugin", "fragile.py", "replay", "m/matches.jsonl", "--match", broken[0]["id"])
    assert shown.returncode == 0, shown.stderr
    assert "broke off: RuntimeError: out of ink" in shown.stdout


def test_out_of_context_player_is_named(gymposium: Run, tmp_path: Path) -> None:
    (tmp_path / "fragile.py").write_text(FRAGILE)
    options = ("--plugin", "fragile.py", "run", "tic_tac_toe", "--players", "random,full", "-n", "2")
    done = gymposium(*options, "--out", "m", "--on-illegal", "retry(3)")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].split() == ["out", "of", "context", "0", "2"]
    assert gymposium("verify", "m/matches.jsonl").returncode == 0
    shown = gymposium("replay", "m/matches.jsonl").stdout
    assert "Seat 1 (full) had no space left for a reply in its context and forfeits." in shown
    assert "Seat 0 (full) had no space left for a reply in its context and forfeits." in shown
    data = json.loads(gymposium("replay", "m/matches.jsonl", "--json").stdout)
    assert sorted(match["ending"]["seat"] for match in data["matches"]) == [0, 1]


@pytest.mark.parametrize("schedule", ["rounds", "streaming"])
def test_watchdog_ends_stuck_matches(gymposium: Run, tmp_path: Path, schedule: str) -> None:
    (tmp_path / "fragile.py").write_text(FRAGILE)
    options = ("--plugin", "fragile.py", "run", "tic_tac_toe", "--players", "random,asleep", "-n", "2")
    options = (*options, "--schedule", schedule)
    done = gymposium(*options, "--watchdog", "0.5", "--out", "m")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].split() == ["timed", "out", "0", "2"]
    assert gymposium("verify", "m/matches.jsonl").returncode == 0
    shown = gymposium("replay", "m/matches.jsonl").stdout
    assert "did not answer in time" in shown
    refused = gymposium(*options, "--watchdog", "0")
    assert refused.returncode != 0
    assert "greater than 0" in refused.stderr


def test_player_that_refuses_the_game_is_the_only_error(gymposium: Run, tmp_path: Path) -> None:
    (tmp_path / "fragile.py").write_text(FRAGILE)
    done = gymposium(
        "--plugin", "fragile.py", "run", "tic_tac_toe", "--players", "random,choosy", "-n", "2", "--out", "m"
    )
    assert done.returncode == 2
    assert done.stderr.splitlines() == ["error: choosy does not play tic_tac_toe."]
    assert not (tmp_path / "m").exists()
