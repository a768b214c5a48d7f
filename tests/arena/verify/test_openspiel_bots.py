"""A board with OpenSpiel bots verifies, and its bots are rerun."""

from __future__ import annotations

from pathlib import Path

import pytest

from gymposium_arena.board import Board
from gymposium_arena.results.file import compute_results, write_results
from gymposium_arena.suite import parse_suite
from gymposium_arena.verify import verify_board

from ..playing import play_board

UNIFORM, FIXED = "openspiel-bot:uniform_random", "openspiel-bot:fixed_action_preference(actions=4:0:2:6:8:1:3:5:7)"
SUITE = f"""
name = "bots"
seed = 2
groups = 3
players = ["random", "{UNIFORM}", "{FIXED}"]
[[games]]
name = "tic_tac_toe"
[[games]]
name = "pig(winscore=20)"
players = ["random", "{UNIFORM}"]
"""


def played(path: Path) -> Board:
    board = Board.open_or_create(path, parse_suite(SUITE))
    assert play_board(board).complete
    write_results(board, compute_results(board))
    return board


def test_board_with_bots_verifies_by_rerunning_them(tmp_path: Path) -> None:
    verified = verify_board(played(tmp_path / "board"))
    assert verified.findings == []
    asked = {player.player: player.asked for player in verified.players}
    assert asked[UNIFORM] > 0
    assert asked[FIXED] > 0


@pytest.mark.slow
def test_equal_seeds_give_equal_boards(tmp_path: Path) -> None:
    one, other = (played(tmp_path / name) for name in ("one", "other"))
    files = sorted(file.relative_to(one.path) for file in one.path.rglob("*.jsonl"))
    assert len(files) == 4
    assert [(one.path / file).read_bytes() for file in files] == [(other.path / file).read_bytes() for file in files]
