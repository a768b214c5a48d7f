"""Errors of invalid player names say how to write the player."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.commands import run_command

from gymposium import make_player
from gymposium.errors import BadOption, UnknownName
from gymposium.players.grammar import reject_person, resolve_player
from gymposium.players.random import RandomPlayer


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("mcts-0", "Unknown player 'mcts-0'. Write mcts-N, with N from 1 to 999999999, for instance mcts-25."),
        ("mcts", "Unknown player 'mcts'. Write mcts-N, with N from 1 to 999999999, for instance mcts-25."),
        ("mcts-1000000000", "with N from 1 to 999999999, for instance mcts-25."),
        ("mcts-many", "with N from 1 to 999999999, for instance mcts-25."),
        ("cfr-0", "Write cfr-N, with N from 1 to 999999, for instance cfr-200."),
        ("hold-0", "Write hold-N, with N from 1 to 9999, for instance hold-20."),
        ("stand-100", "Write stand-N, with N from 1 to 99, for instance stand-17."),
        ("expectimax-7", "Write expectimax-D, with D from 1 to 6, for instance expectimax-2."),
        ("mct-5", "Did you mean 'mcts-N'? If a plugin file adds it, load that file:  gymposium --plugin FILE …"),
    ],
)
def test_error_says_how_to_write_the_player(text: str, told: str) -> None:
    with pytest.raises(UnknownName) as caught:
        make_player(text)
    assert str(caught.value).endswith(told)


def test_stated_limits_are_enforced() -> None:
    for text in ("mcts-1", "mcts-999999999", "cfr-1", "cfr-999999", "hold-9999", "stand-99", "expectimax-6"):
        make_player(text)


FAULTS = {
    "name = None": "it has no name",
    "name = 5": "its name is 5, which is not text",
    "reader = None": "it has no reader",
    "reader = 'move'": "its reader is 'move'. Use a reader, such as READERS['move']",
    "style = None": "it has no style",
    "style = 'ful'": "its style is 'ful'. Use 'full' or 'compact'",
    "act = None": "it has no act",
    "act = 5": "its act is 5, which is not a method",
}
PLUGIN = """
from gymposium import OpponentSpec, hookimpl
from gymposium.players.random import RandomPlayer

class Odd(RandomPlayer):
    {fault}

@hookimpl
def gymposium_opponents():
    yield OpponentSpec(name="odd", form="odd", pattern="odd", entry_point="odd:Odd", summary="Is not a player.")
"""


@pytest.mark.parametrize("fault", FAULTS)
def test_invalid_player_objects_are_refused_with_the_reason(fault: str) -> None:
    name, _, value = fault.partition(" = ")
    odd: Any = type("Odd", (RandomPlayer,), {name: {"None": None, "5": 5}.get(value, value.strip("'"))})()
    with pytest.raises(BadOption) as caught:
        resolve_player(odd)
    assert f"is not a player: {FAULTS[fault]}. Use a player's name" in str(caught.value)


def test_person_is_refused_with_the_play_command() -> None:
    reject_person("--players", ["random", "mcts-5"], "kuhn_poker")
    why = "--players human: a person can play only one match at a time. Choose another player, or run:  gymposium play"
    with pytest.raises(BadOption, match=f"^{why} x$"):
        reject_person("--players", ["random", "human"], "x")


@pytest.mark.parametrize("fault", ["reader = None", "style = 'ful'"])
def test_invalid_players_of_plugins_are_refused_with_their_file(fault: str, tmp_path: Path) -> None:
    file = tmp_path / "odd.py"
    file.write_text(PLUGIN.format(fault=fault))
    for verb in ("run tic_tac_toe --players odd,random -n 2", "play tic_tac_toe --opponent odd"):
        done = run_command("--plugin", "odd.py", *verb.split(), folder=tmp_path, env=os.environ)
        assert done.stderr == f"error: {file}: 'odd' is not a player: {FAULTS[fault]}.\n", verb
        assert done.returncode == 2
