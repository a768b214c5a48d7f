"""A run on a world where one call in twenty fails."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gymposium.plugins.host import host
from gymposium.records import read_records
from gymposium_train.run.start import start_run

WORLD = '''
from itertools import count
from typing import Literal

from gymposium import GameSpec, hookimpl
from gymposium.util.streams import stream
from gymposium.tasks.tools import Tool
from gymposium.tasks import Result, make_tool_game


CALLS = count()


def guess(number: Literal[1, 2, 3]) -> str:
    """Guess the number."""
    return str(number)


class World:
    def __init__(self, task):
        self.task, self.guesses = task, []

    def opening(self, style):
        return "Guess a number from 1 to 3."

    async def call(self, call):
        self.guesses.append(call.arguments["number"])
        if stream(next(CALLS), "fails").random() < 0.05:
            raise ConnectionError("no answer")
        return Result("right" if self.over() else "wrong")

    def over(self):
        return self.task["number"] in self.guesses

    def score(self):
        return float(self.over())

    def report(self):
        return {}

    async def close(self):
        pass


class Tasks:
    tools = (Tool.from_function(guess),)
    max_calls = 2
    utility_range = (0.0, 1.0)

    def rules(self, style):
        return "Find the number.\\n"

    def task(self, seed):
        return {"number": 1 + seed % 3}

    async def open(self, task):
        return World(task)


def game(spec, params):
    return make_tool_game(spec, params, Tasks())


@hookimpl
def gymposium_games():
    yield GameSpec(
        name="flaky", title="Flaky", summary="Guess a number.", entry_point="flaky_world:game", seats=1,
        information="imperfect", chance=True, utility="score", free_text=True, tools="pure",
        unsearchable="search cannot guess what tools return",
    )
'''


@pytest.fixture
def flaky(tmp_path: Path) -> Iterator[str]:
    """The name of the world, from a plugin of one file."""
    (tmp_path / "flaky_world.py").write_text(WORLD)
    host().load_file(tmp_path / "flaky_world.py")
    yield "flaky"
    sys.modules.pop("flaky_world")
    host.cache_clear()


@pytest.mark.slow
def test_run_finishes_and_counts_broken_matches(flaky: str, tmp_path: Path, quick_config: Any) -> None:
    steps, size = 6, 4 * 8
    config = quick_config(
        f'games=["{flaky}"]', f"steps={steps}", "cold_start.steps=60", "cold_start.matches=200", "cold_start.batch=32",
        "rollout.groups=4", "rollout.group_size=8", "rollout.growth=1",
        'evaluation.opponents=["alone"]', f"evaluation.every={steps}", f"checkpoints.every={steps}",
    )  # fmt: skip
    run = start_run(tmp_path / "run", config)
    trained = [entry for entry in run.metrics() if entry["stage"] == "train"]
    assert len(trained) == steps
    assert all(entry["rollout/matches"] + entry["rollout/broken"] == size for entry in trained)
    broken = sum(int(entry["rollout/broken"]) for entry in trained)
    assert 0 < broken < 0.2 * steps * size
    records = [record for _, record in read_records(run.path / "matches" / "train.jsonl")]
    told = [record for record in records if record.ending.broke_off]  # type: ignore[union-attr]
    assert len(told) == broken, "they are recorded, with the reason"
    assert {record.ending.detail for record in told} == {  # type: ignore[union-attr]
        "The tool guess failed: ConnectionError: no answer"
    }
