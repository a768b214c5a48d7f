"""Fixtures: a small board, played and rated once, and its site."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.gymposium.conftest import chromium, look  # noqa: F401

from gymposium.plugins.host import host
from gymposium_arena.board import Board
from gymposium_arena.results.file import compute_results, write_results
from gymposium_arena.site.build import write_site
from gymposium_arena.suite import parse_suite

from ..playing import play_board
from .hostile_players import HOSTILE

PLUGIN = Path(__file__).with_name("hostile_players.py")

SUITE = f"""
name = "small"
title = "A <b>small</b> board"
seed = 4
groups = 2
players = ["random", "greedy", "mcts-5", {json.dumps(HOSTILE)}]
[[games]]
name = "tic_tac_toe"
[[games]]
name = "universal_poker(players=3)"
[[games]]
name = "coin_game"
players = ["random", "greedy"]
[[games]]
name = "openspiel:matrix_pd"
players = ["random", "greedy"]
[[games]]
name = "blackjack"
"""


@pytest.fixture(scope="session")
def plugin() -> Iterator[Path]:
    """Loads the players of `hostile_players.py` for the tests in this folder."""
    before = set(host().opponents)
    host().load_file(PLUGIN)
    yield PLUGIN
    for name in set(host().opponents) - before:
        del host().opponents[name]


@pytest.fixture(scope="session")
def rated(plugin: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The board with its results. One submitted player has a label."""
    board = Board.open_or_create(tmp_path_factory.mktemp("rated") / "board", parse_suite(SUITE))
    board.add(["mcts-10"], 9, ["tic_tac_toe"], label="Searcher <i>Ten</i>", by="Somebody", made="2026-01-02")
    assert play_board(board, 1).complete
    write_results(board, compute_results(board, samples=50))
    return board.path


@pytest.fixture(scope="session")
def site(rated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of the board, which no test changes."""
    out = tmp_path_factory.mktemp("sites") / "site"
    write_site(Board(rated), out, replays=2)
    return out


@pytest.fixture
def board(rated: Path, tmp_path: Path) -> Board:
    """A copy of the board that a test may change."""
    shutil.copytree(rated, tmp_path / "board")
    return Board(tmp_path / "board")
