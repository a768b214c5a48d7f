"""`gymposium leaderboard verify`: text and JSON output, and exit codes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.arena.playing import play_board
from tests.gymposium.cli.conftest import Run

from gymposium_arena.board import Board
from gymposium_arena.entries import Entry
from gymposium_arena.results.file import compute_results, write_results
from gymposium_arena.suite import parse_suite

SCHEMA = Path(__file__).parents[4] / "docs" / "reference" / "entry.schema.json"
SUITE = """
name = "tiny"
title = "A tiny board"
groups = 2
players = ["random", "mcts-3"]
[[games]]
name = "kuhn_poker"
[[games]]
name = "goofspiel(num_cards=3)"
"""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    board = Board.open_or_create(tmp_path_factory.mktemp("boards") / "tiny", parse_suite(SUITE))
    assert play_board(board, workers=1).complete
    write_results(board, compute_results(board))
    return board.path


@pytest.fixture
def board(played: Path, tmp_path: Path) -> Path:
    return shutil.copytree(played, tmp_path / "tiny")


@pytest.mark.slow
def test_parallel_verification_matches_serial(gymposium: Run, board: Path) -> None:
    several = gymposium("leaderboard", "verify", "tiny", "--json", "--jobs", "2", "--seed", "3")
    alone = gymposium("leaderboard", "verify", "tiny", "--json", "--jobs", "1", "--seed", "3")
    assert (several.returncode, alone.returncode) == (0, 0), several.stderr + alone.stderr
    assert several.stdout == alone.stdout
    found = json.loads(alone.stdout)
    assert found["matches"] == {"planned": 8, "played_again": 8, "broke_off": 0}
    assert (found["results"], found["problems"]) == ("agree", [])
    assert [one["evidence"] for one in found["players"]] == ["all repeated"] * 2


@pytest.mark.slow
def test_huge_match_files_are_not_read(gymposium: Run, board: Path) -> None:
    file = next(board.glob("entries/mcts-3/matches/kuhn_poker/*.jsonl"))
    with open(file, "r+b") as sparse:
        sparse.truncate(2**38)
    done = gymposium("leaderboard", "verify", "tiny", "--json", "--jobs", "1")
    assert (done.returncode, "Traceback" in done.stderr) == (1, False), done.stderr
    where = str(file.relative_to(board))
    found = {(one["where"], one["what"]) for one in json.loads(done.stdout)["problems"]}
    assert (where, "it cannot be read (it is larger than 1,073,741,824 bytes)") in found


def test_mismatches_are_reported_with_exit_code_1(gymposium: Run, board: Path) -> None:
    file = next(board.glob("entries/mcts-3/matches/kuhn_poker/*.jsonl"))
    first, *rest = file.read_text().splitlines()
    data = json.loads(first)
    data["returns"].reverse()
    data["players"][0] += "\x1b[31m"
    file.write_text("\n".join([json.dumps(data), *rest]) + "\n")
    done = gymposium("leaderboard", "verify", "tiny", "--jobs", "1")
    assert done.returncode == 1
    assert "kuhn_poker/random--mcts-3.jsonl:1 (match tiny/kuhn_poker/random--mcts-3/0-0): players is" in done.stdout
    assert "\x1b" not in done.stdout
    assert "7 of 8 matches replayed" in done.stdout
    done = gymposium("leaderboard", "verify", "tiny", "--jobs", "1", "--entry", "random")
    assert (done.returncode, "results.json was not compared; no match to verify." in done.stdout) == (0, True)


def test_printed_schema_is_published_and_entries_conform(gymposium: Run, board: Path) -> None:
    done = gymposium("leaderboard", "verify", "--schema")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads(SCHEMA.read_text()) == Entry.model_json_schema()
    entry = json.loads((board / "entries" / "random" / "entry.json").read_text())
    assert entry.keys() == json.loads(SCHEMA.read_text())["properties"].keys()


@pytest.mark.slow
def test_empty_board_fails_verification(gymposium: Run, tmp_path: Path) -> None:
    Board.open_or_create(tmp_path / "fresh", parse_suite(SUITE.replace(', "mcts-3"', "")))
    done = gymposium("leaderboard", "verify", "fresh", "--jobs", "1")
    assert done.returncode == 1, done.stderr
    assert "the suite and the entries plan no match" in done.stderr
    assert "no mismatches" not in done.stdout
