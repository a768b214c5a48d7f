"""Stopping and resuming `gymposium run`: records, output, and identical results."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.gymposium.cli.conftest import Run

STOPS = '''
"""A random player that ends its process by a signal in its ninth call, once."""
import os
import signal
from pathlib import Path

from gymposium import OpponentSpec, hookimpl
from gymposium.players.random import RandomPlayer


class Stops(RandomPlayer):
    name = "stops"
    calls = 0

    def act(self, asks):
        self.calls += 1
        if self.calls == 9 and not Path("stopped").exists():
            Path("stopped").touch()
            if os.environ["STOP"] == "error":
                raise RuntimeError("out of ink")
            if os.environ["STOP"] == "SIGINT":
                signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in background jobs of a shell
            os.kill(os.getpid(), getattr(signal, os.environ["STOP"]))
        return super().act(asks)


@hookimpl
def gymposium_opponents():
    yield OpponentSpec(name="stops", form="stops", pattern="stops", summary="S.", entry_point="stops:Stops")
'''
ARGUMENTS = ("run", "tic_tac_toe", "--players", "stops,random", "-n", "300", "--json")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder and the output of a run that is not stopped."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "stops.py").write_text(STOPS)
    (folder / "stopped").touch()
    command = [sys.executable, "-m", "gymposium.cli.main", "--plugin", "stops.py", *ARGUMENTS, "--out", "run"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return folder / "run", done.stdout


@pytest.mark.parametrize(
    ("stop", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGKILL", -signal.SIGKILL), ("error", 1)]
)
def test_interrupted_run_resumes_to_identical_bytes(
    gymposium: Run, tmp_path: Path, whole: tuple[Path, str], stop: str, code: int
) -> None:
    (tmp_path / "stops.py").write_text(STOPS)
    first = gymposium("--plugin", "stops.py", *ARGUMENTS, "--out", "run", env={"STOP": stop})
    assert first.returncode == code, first.stderr
    kept = len((tmp_path / "run" / "matches.jsonl").read_text().splitlines())
    assert 0 < kept < 300
    line = f"gymposium --plugin {tmp_path / 'stops.py'} run --resume run"
    if stop != "SIGKILL":
        assert f"{kept} of 300 matches are recorded in run. Resume with:\n  {line}\n" in first.stderr
    assert ("Traceback" in first.stderr) == (stop == "error")
    again = gymposium("--plugin", "stops.py", "run", "--resume", "run", "--json")
    assert again.returncode == 0, again.stderr
    assert again.stdout == whole[1]
    for name in ("settings.json", "matches.jsonl"):
        assert (tmp_path / "run" / name).read_bytes() == (whole[0] / name).read_bytes(), name


STOPS_EARLY = '''
"""A player that is interrupted while it is made."""
import signal

from gymposium import OpponentSpec, hookimpl


def make():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in background jobs of a shell
    signal.raise_signal(signal.SIGINT)


@hookimpl
def gymposium_opponents():
    yield OpponentSpec(name="early", form="early", pattern="early", summary="E.", entry_point="early:make")
'''


def test_early_stop_is_reported_and_leaves_no_folder(gymposium: Run, tmp_path: Path) -> None:
    (tmp_path / "early.py").write_text(STOPS_EARLY)
    done = gymposium("--plugin", "early.py", "run", "tic_tac_toe", "--players", "early,random", "--out", "run")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Stopped.\n")
    assert not (tmp_path / "run").exists()


def test_resume_refuses_other_settings_and_folders(gymposium: Run, tmp_path: Path) -> None:
    first = gymposium("run", "kuhn_poker", "--players", "random,random", "-n", "4", "--out", "run")
    assert first.returncode == 0, first.stderr
    again = gymposium("run", "--resume", "run")  # no match is missing
    assert (again.returncode, again.stdout) == (0, first.stdout)
    for arguments, told in (
        (("--resume", "run", "--seed", "1"), "Remove --seed"),
        (("kuhn_poker", "--resume", "run", "-n", "8"), "Remove GAME, -n"),
        (("--resume", "run", "--out", "other"), "Remove --out"),
        (("--resume", "nowhere"), "not a run of gymposium run"),
        (("kuhn_poker",), "No game or players given"),
        (("kuhn_poker", "--players", "random,random", "--out", "run"), "--resume run"),
    ):
        refused = gymposium("run", *arguments)
        assert refused.returncode == 2
        assert told in " ".join(refused.stderr.split())
    settings = json.loads((tmp_path / "run" / "settings.json").read_text())
    settings["settings"]["matches"] = "many"
    (tmp_path / "run" / "settings.json").write_text(json.dumps(settings))
    assert "matches='many' must be an integer" in gymposium("run", "--resume", "run").stderr


def test_full_disk_is_one_line_and_run_resumes_later(gymposium: Run, tmp_path: Path) -> None:
    command = f"{sys.executable} -m gymposium.cli.main run oware --players random,random -n 60 --out r"
    # Python would write broken bytecode of modules within the limit
    limited = ["bash", "-c", f"ulimit -f 8; export PYTHONDONTWRITEBYTECODE=1; exec {command}"]
    done = subprocess.run(limited, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("error: r/matches.jsonl cannot be appended to (File too large).")
    lines = (tmp_path / "r" / "matches.jsonl").read_text().splitlines()
    assert all(json.loads(line)["ending"]["kind"] == "over" for line in lines)
    assert gymposium("run", "--resume", "r").returncode == 0
    assert len((tmp_path / "r" / "matches.jsonl").read_text().splitlines()) == 60


def test_folder_may_name_only_modules_the_user_allows(gymposium: Run, tmp_path: Path) -> None:
    """Settings may come from someone else; the printed command allows the names that the user typed."""
    (tmp_path / "stops.py").write_text(STOPS.replace('pattern="stops"', 'pattern="stops", opens="a module"'))
    plugin = ("--plugin", str(tmp_path / "stops.py"))
    first = gymposium(*plugin, *ARGUMENTS, "--out", "run", env={"STOP": "SIGTERM"})
    assert f"  gymposium {plugin[0]} {plugin[1]} --allow stops run --resume run\n" in first.stderr
    refused = gymposium(*plugin, "run", "--resume", "run")
    assert refused.returncode == 2
    assert "--allow stops" in refused.stderr
    assert gymposium(*plugin, "--allow", "stops", "run", "--resume", "run").returncode == 0


@pytest.mark.parametrize(
    "how", [pytest.param(("--jobs", "2"), marks=pytest.mark.slow), ("--executor", "local")], ids=" ".join
)
def test_workers_match_in_process_play(gymposium: Run, tmp_path: Path, how: tuple[str, ...]) -> None:
    arguments = ("run", "goofspiel(num_cards=4)", "--players", "mcts-5,random", "-n", "40", "--seed", "9", "--json")
    here = gymposium(*arguments, "--out", "here")
    workers = gymposium(*arguments, *how, "--out", "workers")
    assert workers.returncode == 0, workers.stderr
    assert {**json.loads(here.stdout), "record": ""} == {**json.loads(workers.stdout), "record": ""}
    for file in ("matches.jsonl", "matches.manifest.json"):
        assert (tmp_path / "here" / file).read_bytes() == (tmp_path / "workers" / file).read_bytes()


@pytest.mark.slow
def test_run_can_resume_in_workers(gymposium: Run, tmp_path: Path) -> None:
    arguments = ("run", "tic_tac_toe", "--players", "mcts-5,random", "-n", "30")
    whole = gymposium(*arguments, "--out", "whole")
    assert whole.returncode == 0, whole.stderr
    assert gymposium(*arguments, "--out", "torn").returncode == 0
    file = tmp_path / "torn/matches.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[20:] + lines[:7]))
    again = gymposium("run", "--resume", "torn", "--jobs", "2")
    assert again.returncode == 0, again.stderr
    assert file.read_bytes() == (tmp_path / "whole/matches.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (("--address", "10.0.0.1:6379"), "--address 10.0.0.1:6379 needs a cluster. Add --executor ray"),
        (("--executor", "rays"), "rays"),
        (("--jobs", "2", "--schedule", "streaming"), "conflicts with --executor, --jobs"),
    ],
    ids=str,
)
def test_unsupported_executor_options_are_refused_before_play(
    gymposium: Run, tmp_path: Path, how: tuple[str, ...], said: str
) -> None:
    refused = gymposium("run", "tic_tac_toe", "--players", "random,random", *how)
    assert refused.returncode == 2
    assert said in refused.stderr
    assert list(tmp_path.iterdir()) == []


def test_player_that_refuses_the_game_gets_no_resume_hint(gymposium: Run) -> None:
    done = gymposium("run", "kuhn_poker", "--players", "openspiel-bot:uniform_random,random", "-n", "3")
    assert done.returncode == 2
    assert "does not play kuhn_poker" in done.stderr
    assert "--resume" not in done.stderr
