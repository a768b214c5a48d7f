"""The boards under `benchmarks/results/leaderboard` hold to what is here now."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BOARDS = sorted((ROOT / "benchmarks/results/leaderboard").glob("*/suite.toml"))


ENTRIES = {"classic": "exact", "quick": "exact", "worlds": "mail-expert"}
"""An entry of each board that is quick to ask again."""


@pytest.mark.parametrize("board", BOARDS, ids=lambda suite: suite.parent.name)
def test_play_on_a_published_board_is_made_again(board: Path) -> None:
    """All of it takes a minute for each board: `gymposium leaderboard verify`."""
    entry = ENTRIES[board.parent.name]
    command = ["-m", "gymposium.cli.main", "leaderboard", "verify", str(board.parent.relative_to(ROOT))]
    done = subprocess.run(
        [sys.executable, *command, "--entry", entry, "--sample", "1", "--jobs", "1"],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "; all agrees." in done.stdout
    assert "all asked for again" in done.stdout.partition(f"\n {entry} ")[2].partition("\n")[0]


def test_there_are_boards() -> None:
    assert [suite.parent.name for suite in BOARDS] == ["classic", "quick", "worlds"]
