"""Commands stop asking a world whose server is down, and report an error."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.gymposium.cli.conftest import Run

WORLD = '''
"""A world whose server answers the first tasks and then is gone; the file `asked` has a mark for each task."""
from pathlib import Path

from gymposium import GameSpec, hookimpl
from gymposium.tasks.tools import Tool
from gymposium.tasks import Result, make_tool_game

ASKED = Path(__file__).with_name("asked")


def look() -> str:
    """Look."""


class World:
    looked = False

    def opening(self, style):
        return "Look."

    async def call(self, call):
        self.looked = True
        return Result("seen")

    def over(self):
        return self.looked

    def score(self):
        return float(self.looked)

    def report(self):
        return {}

    async def close(self):
        pass


class Tasks:
    tools, max_calls, utility_range = (Tool.from_function(look),), 2, (0.0, 1.0)

    def rules(self, style):
        return "Look once.\\n"

    def task(self, seed):
        return {}

    async def open(self, task):
        with ASKED.open("a") as file:
            file.write(".")
        if ASKED.stat().st_size > ANSWERS:
            raise ConnectionError("connection refused")
        return World()


def game(spec, params):
    return make_tool_game(spec, params, Tasks())


@hookimpl
def gymposium_games():
    yield GameSpec(name="dying", title="Dying", summary="Look.", entry_point="dying:game", seats=1, chance=True,
                   information="imperfect", utility="score", free_text=True, tools="pure", unsearchable="it dies")
'''
SUITE = 'name = "s"\ntitle = "S"\nseed = 1\ngroups = 400\nplayers = ["random"]\n[[games]]\nname = "dying"\n'
MATCHES = ("-n", "400", "--out", "o")


@pytest.mark.parametrize(
    ("answers", "command"),
    [
        pytest.param(40, ("run", "dying", "--players", "random", *MATCHES), id="run"),
        pytest.param(
            *(0, ("run", "dying", "--schedule", "streaming", "--players", "random", *MATCHES)),
            id="run-streaming",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *(40, ("run", "dying", "--jobs", "2", "--players", "random", *MATCHES)),
            id="run-jobs",
            marks=pytest.mark.slow,
        ),
        pytest.param(0, ("eval", "random", "--game", "dying", "--at-once", "16", *MATCHES), id="eval"),
        pytest.param(
            *(40, ("synth", "--game", "dying", "--keep", "return>=1", "--players", "random", *MATCHES)), id="synth"
        ),
        pytest.param(0, ("leaderboard", "run", "suite.toml", "--jobs", "1", "--out", "o"), id="leaderboard"),
    ],
)
def test_dead_server_stops_the_command(answers: int, command: tuple[str, ...], gymposium: Run, tmp_path: Path) -> None:
    (tmp_path / "dying.py").write_text(WORLD.replace("ANSWERS", str(answers)), encoding="utf-8")
    (tmp_path / "suite.toml").write_text(SUITE, encoding="utf-8")
    done = gymposium("--plugin", "dying.py", *command)
    assert done.returncode == 1, done.stderr
    asked = (tmp_path / "asked").stat().st_size
    most = 256 if "--jobs" in command else 8  # a worker plays a whole batch
    assert asked <= answers + most
    said = done.stdout + done.stderr
    assert said.count("The opening of the task failed: ConnectionError: connection refused") == 1, said


def test_occasional_broken_matches_are_not_an_error(gymposium: Run, tmp_path: Path) -> None:
    world = WORLD.replace("ASKED.stat().st_size > ANSWERS", "ASKED.stat().st_size % 8 != 0")
    (tmp_path / "dying.py").write_text(world, encoding="utf-8")
    done = gymposium("--plugin", "dying.py", "run", "dying", "--players", "random", "-n", "80", "--out", "o")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "asked").stat().st_size == 80
    assert "70 matches broke off and have no result, because: The opening" in done.stderr
