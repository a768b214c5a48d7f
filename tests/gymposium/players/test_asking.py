"""A player's exception names the player and its file, in every interface."""

from __future__ import annotations

import os
import pickle
import re
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path

import pytest
from tests.commands import run_command

from gymposium.envs.gym import TextGameEnv
from gymposium.envs.player_bot import PlayerBot
from gymposium.errors import BadOption, IllegalMove
from gymposium.games.registry import load_game
from gymposium.http.environments.offer import SharedPlayer
from gymposium.match import MatchJob, Schedule, play
from gymposium.match.watchdog import Watchdog
from gymposium.players.asking import ask_player, blame, get_blame_note
from gymposium.players.protocol import Ask, Player, Reply
from gymposium.replies.reading import READERS

ROOT = Path(__file__).resolve().parents[3]
TTT = load_game("tic_tac_toe")


class FailingPlayer:
    """A player that fails at each ask."""

    name, reader, style = "failing", READERS["move"], "compact"

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        raise ZeroDivisionError("division by zero")


class RemoteFailingPlayer(FailingPlayer):
    """A failing player whose replies are futures."""

    def submit(self, ask: Ask) -> Future[Reply]:
        future: Future[Reply] = Future()
        future.set_exception(OSError("no such host"))
        return future


def _play(player: FailingPlayer, schedule: Schedule = "rounds", watchdog: Watchdog | None = None) -> None:
    list(play([MatchJob("m", TTT, [player, player], 0)], schedule=schedule, watchdog=watchdog))


def _step(player: Player) -> None:
    TextGameEnv("tic_tac_toe", opponent=player, seat=1).reset(seed=0)


def _bot(player: FailingPlayer) -> None:
    PlayerBot(player, "tic_tac_toe", 0, seed=0).step(TTT.new(0).state)


WAYS: dict[str, Callable[[], object]] = {
    "rounds": lambda: _play(FailingPlayer()),
    "streaming": lambda: _play(FailingPlayer(), "streaming"),
    "futures": lambda: _play(RemoteFailingPlayer(), "streaming"),
    "watchdog": lambda: _play(FailingPlayer(), watchdog=Watchdog(60)),
    "environment": lambda: _step(FailingPlayer()),
    "bot": lambda: _bot(FailingPlayer()),
    "server": lambda: _step(SharedPlayer(FailingPlayer())),
}


@pytest.mark.parametrize("way", WAYS)
def test_player_and_its_file_are_named(way: str) -> None:
    with pytest.raises((ZeroDivisionError, OSError)) as raised:
        WAYS[way]()
    note = get_blame_note(raised.value)
    assert re.fullmatch(rf"The player 'failing' failed in {re.escape(__file__)}(, line \d+)?\.", note)
    assert get_blame_note(pickle.loads(pickle.dumps(raised.value))) == note  # as from a child process


@pytest.mark.parametrize("replies", [["a1"], [], None, [Reply(3)]])  # type: ignore[arg-type]
def test_invalid_replies_are_blamed_on_the_player(replies: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FailingPlayer, "act", lambda self, asks: replies)
    with pytest.raises(TypeError, match="player failing") as raised:
        _play(FailingPlayer())
    assert get_blame_note(raised.value) == f"The player 'failing' failed in {__file__}."


def test_player_cannot_exit_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FailingPlayer, "act", lambda self, asks: sys.exit(0))
    with pytest.raises(RuntimeError, match=re.escape("it ended the program (SystemExit: 0)")):
        ask_player(FailingPlayer(), [])


def test_only_player_faults_are_noted_and_only_once() -> None:
    error, refusal, mistake = KeyError("x"), BadOption("Write it so."), IllegalMove(0, "x", ["y"])
    for one in (error, refusal, mistake):
        blame(one, "first", FailingPlayer)
        blame(one, "second", FailingPlayer)
    assert (len(error.__notes__), get_blame_note(refusal)) == (1, "")
    assert get_blame_note(mistake) == get_blame_note(error) == f"The player 'first' failed in {__file__}."


def test_players_are_asked_only_through_ask_player() -> None:
    """Only wrappers ask an inner player by themselves: their own exceptions are noted."""
    run = "gymposium_train/run"
    wrapped = {f"{run}/fitting.py", f"{run}/lessons/random_play.py", f"{run}/teachers.py"}
    asking = {
        path.as_posix().partition("/src/")[2]
        for path in [*ROOT.glob("packages/*/src/**/*.py"), *ROOT.glob("plugins/*/src/**/*.py")]
        if re.search(r"(?<!watchdog)\.act\(", path.read_text(encoding="utf-8"))
    }
    assert asking == {"gymposium/players/asking.py", *wrapped}


PLUGIN = """
from gymposium.plugins.hookspecs import hookimpl
from gymposium.plugins.specs import OpponentSpec
from gymposium.replies.reading import READERS

class Boom:
    name, reader, style = "boom", READERS["move"], "compact"

    def act(self, asks):
        return [1 / 0 for _ in asks]

class Unmade(Boom):
    def __init__(self):
        raise KeyError("x")

@hookimpl
def gymposium_opponents():
    yield OpponentSpec(name="boom", form="boom", pattern="boom", entry_point="boom:Boom", summary="Fails.")
    yield OpponentSpec(name="unmade", form="unmade", pattern="unmade", entry_point="boom:Unmade", summary="Fails.")
"""
FAULTS = {
    "run tic_tac_toe --players boom,random -n 2 --out r": "'boom' failed in {}, line 10. ZeroDivisionError: division",
    "eval unmade --game tic_tac_toe": "'unmade' failed in {}, line 14. KeyError: 'x'",
}


@pytest.mark.parametrize("arguments", FAULTS)
def test_command_names_the_player_before_the_traceback(arguments: str, tmp_path: Path) -> None:
    file = tmp_path / "boom.py"
    file.write_text(PLUGIN)
    done = run_command("--plugin", "boom.py", *arguments.split(), folder=tmp_path, env=os.environ)
    told = done.stderr[: done.stderr.index("Traceback")].splitlines()[-1]
    assert told.startswith(f"error: The player {FAULTS[arguments].format(file)}")
    assert done.returncode == 1
    assert all(str(tmp_path) not in path.read_text() for path in tmp_path.glob("r/*"))
