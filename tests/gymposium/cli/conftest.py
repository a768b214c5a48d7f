"""Fixtures of command-line tests: `gymposium` in a forked process and a temporary folder."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.commands import run_command

from gymposium.util.child_process import make_user_environment

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def gymposium(tmp_path: Path) -> Run:
    """`gymposium("list", "--json")` runs the command; `typed` is its input, `env` adds environment variables."""

    def run(*arguments: str, typed: str = "", env: dict[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
        ours = {"COLUMNS": "200", "PYTHONUTF8": "1", "GYMPOSIUM_PLUGINS_STRICT": "1"}
        return run_command(
            *arguments, typed=typed, folder=tmp_path, env={**make_user_environment(), **ours, **(env or {})}
        )

    return run


STUTTER = '''
"""A player that answers a move, then nonsense, then something illegal, and so on; where it begins is by the seed."""
from gymposium.util.child_process import make_user_environment
from gymposium import CommandSpec, GameSpec, OpponentSpec, hookimpl
from gymposium.players.protocol import Reply
from gymposium.replies.reading import READERS


@hookimpl
def gymposium_opponents():
    yield OpponentSpec(name="stutter", form="stutter", pattern="stutter", summary="S.", entry_point="stutter:Stutter")
    yield OpponentSpec(name="absent", form="absent", pattern="absent", summary="S.", entry_point="stutter:absent")


@hookimpl
def gymposium_games():
    yield GameSpec(name="gone", title="Gone", summary="Gone.", entry_point="stutter_is_not_here:gone")


@hookimpl
def gymposium_commands():
    yield CommandSpec(name="shout", summary="Say it loud.", entry_point="stutter:shout", order=50)
    yield CommandSpec(name="lost", summary="Cannot be loaded.", entry_point="stutter_is_not_here:lost")


class Stutter:
    name, reader, style = "stutter", READERS["move"], "compact"

    def act(self, asks):
        return [Reply(self.say(ask)) for ask in asks]

    def say(self, ask):
        taken = next(move for move in ("a1", "b2", "c3", "a3", "") if move not in ask.legal_moves)
        return [ask.legal_moves[0], "\\x1b[31m hm [bold]", taken][(ask.turn + ask.seed) % 3]


def shout(word: str) -> None:
    """Print a word in capitals.

    The word is
    any word.

    \\b
    gymposium shout one
    gymposium shout two
    """
    print(word.upper())
'''


@pytest.fixture
def stutter(tmp_path: Path) -> str:
    """A one-file plugin with a player that fails in every way, and two verbs."""
    file = tmp_path / "stutter.py"
    file.write_text(STUTTER)
    return str(file)
