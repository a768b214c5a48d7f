"""The table of first-party names is current, and each name's error says what to install."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from gymposium.plugins.first_party import list_first_party

SCRIPT = Path(__file__).with_name("first_party.py")
TRY_ALL = """
import importlib.metadata, json, sys

real = importlib.metadata.distributions
kept = {"gymposium", *sys.argv[1:]}
importlib.metadata.distributions = lambda: [
    one for one in real() if not one.name.startswith("gymposium") or one.name in kept
]

from gymposium import load_game, make_player, make_reward
from gymposium.cli.main import app
from gymposium.errors import GymposiumError
from gymposium.runs.executors.make import open_executor
from gymposium.runs.executors.protocol import ExecutorStart
from gymposium.runs.loggers.make import check_loggers
from gymposium.plugins.first_party import list_first_party
from gymposium.plugins.host import host
from gymposium_testing.subjects import find_subjects
from typer.main import get_command

def config(kind):
    from gymposium_train.config.reading import build_config
    return lambda name: build_config({"games": ["tic_tac_toe"], kind: {"kind": name}})

WAYS = {
    "command": lambda name: get_command(app).resolve_command(None, [name]),
    "executor": lambda name: open_executor(name, None).__enter__(),
    "game": load_game,
    "logger": lambda name: check_loggers({name: {}}),
    "player": lambda name: make_player(f"{name}x" if name[-1] in ":-" else name),
    "reward": lambda name: make_reward(f"{name}(x)"),
}
WAYS |= {kind: config(kind) for kind in ("engine", "backend")} if "gymposium-train" in kept else {}
told = {}
for kind, way in WAYS.items():
    here = {spec.name for hook in host().plugins for spec in hook.specs if spec.kind == kind}
    for name in list_first_party()[kind]:
        if name.rstrip(":-") not in here:
            try:
                way(name)
            except GymposiumError as error:
                told[f"{kind} {name}"] = str(error)
for kind in ("game", "logger", "executor"):
    for name in set(list_first_party()[kind]) - {plugin.name for plugin in host().plugins}:
        try:
            find_subjects(name)
        except GymposiumError as error:
            told[f"check {kind} {name}"] = str(error)
print(json.dumps(told))
"""


def test_table_is_generated_from_the_plugins() -> None:
    script = runpy.run_path(str(SCRIPT))
    assert script["TABLE"].read_text(encoding="utf-8") == script["generated"](), f"run: python {SCRIPT}"


@cache
def told(*distributions: str) -> dict[str, str]:
    """What is said of each name of the table that nothing adds where only these of our distributions, and the core, are
    installed."""
    variables = {name: value for name, value in os.environ.items() if name != "GYMPOSIUM_PLUGINS"}
    command = [sys.executable, "-P", "-c", TRY_ALL, *distributions]
    done = subprocess.run(
        command, env={**variables, "GYMPOSIUM_CONFIG": ""}, capture_output=True, text=True, check=True
    )
    answers: dict[str, str] = json.loads(done.stdout)
    return answers


@pytest.mark.parametrize("kind", ["command", "executor", "game", "logger", "player", "reward"])
def test_core_alone_names_the_install_command_for_every_name(kind: str) -> None:
    for name, install in list_first_party()[kind].items():
        wanted = f"The {kind} {name!r} is not installed. Install it with:  pip install {install}"
        assert told()[f"{kind} {name}"] == wanted
        assert told().get(f"check {kind} {name}", wanted) == wanted


@pytest.mark.parametrize("kind", ["backend", "engine"])
def test_training_names_the_install_command_for_config_kinds(kind: str) -> None:
    said = told("gymposium-agents", "gymposium-train")[f"{kind} tinker"]
    assert said == f"The {kind} 'tinker' is not installed. Install it with:  pip install gymposium-tinker"
