"""One server per match: separate state, a bound on servers, and cleanup."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import pettingzoo
import pytest
from tests.gymposium.tasks.guessing import ScriptedPlayer
from tests.plugins.mcp.making import RAW, call, playing, write_world

from gymposium.errors import GymposiumError
from gymposium.match import MatchJob, Schedule, play

NOTING = """if True:
    import runpy
    import sys

    def note(sign):
        with open(sys.argv[1], "a") as file:
            file.write(sign)

    note("+")
    try:
        runpy.run_path(RAW, run_name="__main__")
    finally:
        note("-")
"""
"""A server that notes in a file when it starts (+) and when it ends (-)."""


def write_start(folder: Path, **server: Any) -> Path:
    """Write the file of a world with a server for each match, whose folder begins with the notes `start`. The servers
    note their starts and ends in the file `noted`."""
    command = ["python", "-c", NOTING.replace("RAW", repr(RAW[1])), "{world}/noted"]
    file = write_world(
        folder,
        server={"command": command, "per_match": True, "files": "start", **server},
        tools={"allow": ["remember", "misbehave"]},
    )
    (folder / "start").mkdir()
    (folder / "description.txt").rename(folder / "start" / "description.txt")
    (folder / "start" / "notes.txt").write_text("start\n", encoding="utf-8")
    return file


def jobs(game: Any, plays: Sequence[Sequence[str]]) -> list[MatchJob]:
    return [MatchJob(f"m{number}", game, [ScriptedPlayer(*replies)], number) for number, replies in enumerate(plays)]


def count_concurrent(noted: str) -> int:
    return max(noted[:end].count("+") - noted[:end].count("-") for end in range(len(noted) + 1))


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the folders of matches are made."""
    made = tmp_path / "temporary"
    made.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(made))
    return made


def test_matches_have_separate_state(tmp_path: Path, folders: Path) -> None:
    with playing(write_start(tmp_path)) as game:
        matches = [game.new(seed) for seed in (0, 1)]
        for word in ("one", "two"):
            for number, match in enumerate(matches):
                match.apply({0: call("remember", f"{word}{number}")})
        assert [match.observe(0).text for match in matches] == [
            "./notes.txt: start one0 two0\n",
            "./notes.txt: start one1 two1\n",
        ]
        assert len([*folders.iterdir()]) == 2
        for match in matches:
            match.apply({0: call("answer", "4")})
        assert [*folders.iterdir()] == []
        assert (tmp_path / "noted").read_text() == "+-++--"  # the first one lists the tools
    assert (tmp_path / "start" / "notes.txt").read_text(encoding="utf-8") == "start\n"


@pytest.mark.parametrize("schedule", ["rounds", "streaming"])
def test_driver_limits_concurrent_matches(schedule: Schedule, tmp_path: Path, folders: Path) -> None:
    plays = [
        [call("remember", "a"), call("answer", "4")],
        ["no call"],  # a forfeit
        [call("misbehave", "die")],
        [call("misbehave", "internal")],
        [call("remember", "b"), call("remember", "c"), call("answer", "4")],
        [call("answer", "5")],
    ]
    with playing(write_start(tmp_path, at_once=2)) as game:
        results = {result.job.id: result for result in play(jobs(game, plays), schedule=schedule)}
        endings = [results[f"m{number}"].ending.kind for number in range(len(plays))]
        assert endings == ["over", "no legal move", "broke off", "broke off", "over", "over"]
        assert [results[f"m{number}"].paid for number in (0, 4, 5)] == [(1.0,), (1.0,), (0.0,)]
    noted = (tmp_path / "noted").read_text()
    assert noted.count("+") == len(plays) + 1  # the first one lists the tools
    assert count_concurrent(noted) <= 3  # the one that dies does not note its end
    assert [*folders.iterdir()] == []


def test_environment_stops_its_server(tmp_path: Path, folders: Path) -> None:
    file = write_start(tmp_path, at_once=1)
    with playing(file):
        env = gymnasium.make("gymposium:TextMcp-v0", file=str(file))
        for seed in (1, 2):  # the server of an unfinished match ends at the next reset
            env.reset(seed=seed)
            assert "./notes.txt: start a\n" in env.step(call("remember", "a"))[0]
        env.close()
        agents = pettingzoo.make("aec", "TextMcp-v0", file=str(file))
        for seed in (1, 2):
            agents.reset(seed=seed)
        agents.close()
    assert (tmp_path / "noted").read_text() == "+-" * 5
    assert [*folders.iterdir()] == []


def test_no_free_server_slot_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gymposium_mcp.server._SLOT_SECONDS", 0.01)
    with playing(write_start(tmp_path, at_once=1)) as game:
        held = game.new(0)
        with pytest.raises(
            GymposiumError, match=r"1 servers are running, .* End matches, or raise at_once in \[server\]"
        ):
            game.new(1)
        held.apply({0: call("answer", "4")})
        assert game.new(1).to_move() == (0,)


@pytest.mark.parametrize("killed", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_exiting_program_leaves_no_server(killed: bool, tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    os.mkfifo(alive)
    script = "import os, runpy, sys; held = os.open('ALIVE', os.O_WRONLY); runpy.run_path('RAW', run_name='__main__')"
    script = script.replace("ALIVE", str(alive)).replace("RAW", RAW[1])
    file = write_start(tmp_path, command=["python", "-c", script])
    play_on = (
        "import sys; from gymposium import load_game; game = load_game('mcp', file=sys.argv[1]); "
        "matches = [game.new(0), game.new(1)]; print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", play_on, str(file)],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdout is not None
        with alive.open("rb") as servers:
            assert program.stdout.readline() == "open\n"
            if killed:
                program.send_signal(signal.SIGKILL)
            else:
                program.communicate()
            assert servers.read() == b""  # waits until no server holds it
    assert len([*tmp_path.glob("gymposium-match-*")]) == (2 if killed else 0)
