"""Fixtures: a small board, played once, and copies to tamper with."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gymposium.plugins.host import host
from gymposium_arena.board import Board
from gymposium_arena.results.file import compute_results, write_results
from gymposium_arena.suite import parse_suite

from ..playing import play_board
from .copies import Copy

PLUGIN = Path(__file__).with_name("checked_players.py")

SUITE = """
name = "small"
seed = 5
groups = 2
players = ["random", "greedy", "mcts-5"]
[[games]]
name = "tic_tac_toe"
[[games]]
name = "kuhn_poker"
"""


@pytest.fixture(scope="session")
def plugin() -> Iterator[Path]:
    """Loads the players of `checked_players.py` for the tests in this folder."""
    before = set(host().opponents)
    host().load_file(PLUGIN)
    yield PLUGIN
    for name in set(host().opponents) - before:
        del host().opponents[name]


@pytest.fixture(scope="session")
def played(plugin: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The board as played and rated, with three own players and two submissions."""
    folder = tmp_path_factory.mktemp("played")
    (folder / "weights.json").write_text("3")
    board = Board.open_or_create(folder / "board", parse_suite(SUITE))
    board.add([f"weighted:{folder / 'weights.json'}"], 11, label="By weights", by="Somebody", made="2026-01-02")
    board.add(["secret"], None, ["tic_tac_toe"])
    assert play_board(board, 1).complete
    write_results(board, compute_results(board))
    return board.path


@pytest.fixture
def copy(played: Path, tmp_path: Path) -> Copy:
    shutil.copytree(played, tmp_path / "board")
    return Copy(tmp_path / "board")
