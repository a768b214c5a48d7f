"""Configs of short runs on the stand-in, and the model that they train."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gymposium.plugins.host import host
from gymposium_train import train
from gymposium_train.config import TrainConfig
from gymposium_train.config.reading import build_config, merge_data

WORLD = '''
from typing import Literal

from gymposium import GameSpec, hookimpl
from gymposium.tasks.tools import Tool
from gymposium.tasks import Result, make_tool_game


def guess(number: Literal[1, 2, 3]) -> str:
    """Guess the number."""
    return str(number)


class World:
    def __init__(self, task):
        self.task, self.guesses = task, []

    def opening(self, style):
        return "Guess."

    async def call(self, call):
        self.guesses.append(call.arguments["number"])
        return Result("right" if self.over() else "wrong")

    def over(self):
        return self.task["number"] in self.guesses

    def score(self):
        return 1.0 / len(self.guesses) if self.over() else 0.0

    def report(self):
        return {}

    async def close(self):
        pass


class Tasks:
    tools = (Tool.from_function(guess),)
    max_calls = 2
    utility_range = (0.0, 1.0)

    def rules(self, style):
        return "Find it.\\n"

    def task(self, seed):
        return {"number": 1 + seed % 3}

    async def open(self, task):
        return World(task)


def game(spec, params):
    return make_tool_game(spec, params, Tasks())


@hookimpl
def gymposium_games():
    yield GameSpec(
        name="guess", title="Guess", summary="Guess a number.", entry_point="guess_world:game", seats=1,
        information="imperfect", chance=True, utility="score", free_text=True, tools="pure",
        unsearchable="search cannot guess what tools return",
    )
'''


@contextmanager
def guess_world(directory: Path) -> Iterator[str]:
    """The name of a world with a tool, from a plugin of one file in a directory."""
    (directory / "guess_world.py").write_text(WORLD)
    host().load_file(directory / "guess_world.py")
    yield "guess"
    sys.modules.pop("guess_world")
    host.cache_clear()


def taught(directory: Path, *games: str) -> Path:
    """A small model that has imitated random play on this machine, so that many of its replies are legal."""
    config = build_config(
        {
            "games": [*games],
            "seed": 1,
            "steps": 0,
            "model": {
                "small": {"hidden": 32, "layers": 2, "heads": 2, "feed_forward": 64, "vocabulary": 384},
                "tune": "full",
            },
            "cold_start": {"steps": 300, "matches": 400, "batch": 32, "learning_rate": 1e-2, "keep": "all"},
            "evaluation": {"opponents": ["random"], "matches": 2, "every": 0},
        }
    )
    return train(config, out=directory).cold_start


def make_settings(directory: Path, url: str, **tables: Any) -> dict[str, Any]:
    """The settings of a run of three steps of tic-tac-toe with the model in `directory`; `tables` are merged in."""
    base: dict[str, Any] = {
        "games": ["tic_tac_toe"],
        "seed": 3,
        "steps": 3,
        "model": {"name": str(directory), "tune": "lora", "lora": {"rank": 4}},
        "backend": {"kind": "tinker", "base_url": url},
        "credit": {"kind": "grpo"},
        "objective": {"kind": "pg"},
        "kl": {"weight": 0.0},
        "legality": {"weight": 0.0},
        "rollout": {"groups": 2, "group_size": 4, "growth": 1.0},
        "optimizer": {"epochs": 1, "minibatches": 1, "learning_rate": 1e-2},
        "evaluation": {"matches": 4, "every": 0, "opponents": ["random"]},
        "checkpoints": {"every": 1},
    }
    return merge_data(base, tables)


def make_config(directory: Path, url: str, **tables: Any) -> TrainConfig:
    return build_config(make_settings(directory, url, **tables))
