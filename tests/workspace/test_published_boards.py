"""The boards under `benchmarks/results/leaderboard` agree with the current code."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.commands import run_command

ROOT = Path(__file__).resolve().parents[2]

ENTRIES = [
    ("classic", "exact", "all repeated"),
    ("classic", "lm-benchmarks-leaderboard-players-connect_four-m-4539a415", "a sample repeated"),
    ("quick", "lm-benchmarks-leaderboard-players-two-games-mode-9d2860ea", "a sample repeated"),
    ("showcase", "exact", "all repeated"),
    ("worlds", "lm-benchmarks-leaderboard-players-mail-model-94b7fab2", "a sample repeated"),
]
"""Entries that are quick to ask again: the language models that learned, and a player that is code."""


@pytest.mark.parametrize(
    ("board", "entry", "asked"),
    [pytest.param(*entry, marks=() if entry[0] == "worlds" else pytest.mark.slow) for entry in ENTRIES],
)
def test_published_board_matches_can_be_replayed(board: str, entry: str, asked: str) -> None:
    """All of it takes minutes for each board: `gymposium leaderboard verify BOARD --rerun 1`."""
    allowed = ["--allow", "lm:benchmarks/*", "--allow", "sb3:benchmarks/*"]
    folder = f"benchmarks/results/leaderboard/{board}"
    options = ["--entry", entry, "--sample", "0", "--rerun", "1", "--seed", "1", "--jobs", "1"]
    env = {**os.environ, "COLUMNS": "200", "OMP_NUM_THREADS": "1"}
    done = run_command(*allowed, "leaderboard", "verify", folder, *options, folder=ROOT, env=env, learns=True)
    label = json.loads((ROOT / folder / "entries" / entry / "entry.json").read_text(encoding="utf-8"))["label"]
    assert done.returncode == 0, done.stdout + done.stderr
    assert "; no mismatches." in done.stdout
    assert asked in done.stdout.partition(f"\n {label} ")[2].partition("\n")[0]


def test_matches_are_stored_compressed() -> None:
    """Plain, they are 36 million characters, which every tool that reads sources would read."""
    folder = ROOT / "benchmarks/results/leaderboard"
    assert not [*folder.rglob("*.jsonl")]
    assert len([*folder.rglob("*.jsonl.gz")]) > 100


def test_every_published_board_is_tested() -> None:
    boards = [suite.parent.name for suite in sorted((ROOT / "benchmarks/results/leaderboard").glob("*/suite.toml"))]
    assert boards == [*dict.fromkeys(board for board, *_ in ENTRIES)]
