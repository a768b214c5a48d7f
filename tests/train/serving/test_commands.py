"""Commands of `gymposium serve --run`."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest

from gymposium_agents.players.player import LanguageModelPlayer
from gymposium_train.config import TrainConfig
from gymposium_train.serving.commands import CommandRunner
from gymposium_train.serving.server import serve
from gymposium_train.serving.settings import SessionSettings

from .serving import service_in

WAITING = """
import os, pathlib, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
pathlib.Path(sys.argv[1], f"{os.getpid()} {child.pid}").touch()
child.wait()
"""


@pytest.fixture
def settings(tmp_path: Path) -> SessionSettings:
    """Two sessions of a command that waits forever for what it started."""
    agent, scores = tmp_path / "agent.py", tmp_path / "scores.py"
    agent.write_text(WAITING)
    scores.write_text("def score(result):\n    return 1.0\n")
    (tmp_path / "started").mkdir()
    run = shlex.join([sys.executable, str(agent), str(tmp_path / "started")])
    return SessionSettings(port=0, groups=1, run=run, scores=f"{scores}:score")


def test_commands_under_way_end_with_the_run(
    tmp_path: Path, player: LanguageModelPlayer, settings: SessionSettings
) -> None:
    service = service_in(tmp_path, player)
    with serve(service, settings, tmp_path, TrainConfig(games=("tic_tac_toe",)), None) as address:
        runner = CommandRunner(service, settings, address, None)
        while len([*(tmp_path / "started").iterdir()]) < 2:
            runner._thread.join(0.01)
            assert runner._thread.is_alive()
        runner.close()
        runner._thread.join(20.0)
        assert not runner._thread.is_alive()
        runner.check()
    service.close()
    processes = [int(number) for path in (tmp_path / "started").iterdir() for number in path.name.split()]
    assert len(processes) == 4
    for process in processes:
        assert not is_running(process)


def is_running(process: int) -> bool:
    """Whether a process exists and is not a zombie that its new parent has not collected yet."""
    try:
        os.kill(process, 0)
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
