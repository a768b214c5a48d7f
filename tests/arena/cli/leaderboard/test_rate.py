"""`gymposium leaderboard rate`: ratings on the terminal and in the board's directory."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.arena.playing import play_board
from tests.gymposium.cli.conftest import Run

from gymposium_arena.board import Board
from gymposium_arena.results.file import read_results
from gymposium_arena.suite import parse_suite

SUITE = """
name = "tiny"
title = "A tiny board"
groups = 8
players = ["random", "mcts-10"]
[[games]]
name = "kuhn_poker"
players = ["random", "mcts-10", "cfr-50"]
[[games]]
name = "breakthrough(rows=4, columns=2)"
[[games]]
name = "blackjack"
"""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = Board.open_or_create(tmp_path_factory.mktemp("boards") / "tiny", parse_suite(SUITE))
    assert play_board(made, workers=1).complete
    return made.path


@pytest.fixture
def board(played: Path, tmp_path: Path) -> Path:
    return shutil.copytree(played, tmp_path / "tiny")


def test_printed_and_written_ratings_agree(gymposium: Run, board: Path) -> None:
    done = gymposium("leaderboard", "rate", "tiny", "--payoff")
    assert done.returncode == 0, done.stderr
    assert "Written: tiny/results.json" in done.stderr
    results = read_results(board / "results.json")
    assert all(note in done.stdout for note in results.method.notes)
    joint, *games = done.stdout.split("\n\n")[1:]
    assert joint.startswith("All zero-sum games: kuhn_poker, breakthrough(columns=2,rows=4)")
    assert "Not on the joint board: cfr-50 (has not played breakthrough" in joint
    assert [text.partition(":")[0] for text in games] == [f"{one.title} ({one.game})" for one in results.games]
    assert "48 matches on 8 deals, Bradley–Terry" in games[0]
    assert "cfr-50 against random play, exactly: wins" in games[0]
    assert "Share of points, rows against columns" in games[0]
    assert "over the anchor" in games[2]
    assert results.joint is not None
    for row in results.joint.standings:
        assert f" {row.player} " in joint
    assert f"{results.joint.standings[0].rating:.0f} [" in joint


def test_players_are_shown_by_label(gymposium: Run, board: Path) -> None:
    added = ("--add", "greedy", "--label", "Takes what it sees", "--game", "kuhn_poker", "-j", "1")
    assert gymposium("leaderboard", "run", "--out", "tiny", *added).returncode == 0
    done = gymposium("leaderboard", "rate", "tiny", "--payoff")
    assert done.returncode == 0, done.stderr
    *boards, called = done.stdout.strip().split("\n\n")
    assert called == "Takes what it sees is greedy."
    assert "Takes what it sees" in boards[2]
    assert all("greedy" not in text for text in boards)


def test_json_output_equals_the_file(gymposium: Run, board: Path) -> None:
    done = gymposium("leaderboard", "rate", "tiny", "--json", "--exact", "random")
    assert done.returncode == 0, done.stderr
    assert done.stdout == (board / "results.json").read_text()
    measured = json.loads((board / "entries" / "random" / "exact.json").read_text())
    assert measured["games"]["kuhn_poker"]["exploitability"] == pytest.approx(11 / 24, abs=1e-6)


def test_schema_is_printed_without_a_board(gymposium: Run) -> None:
    done = gymposium("leaderboard", "rate", "--schema")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["title"] == "Results"


def test_unratable_input_is_an_error(gymposium: Run, board: Path) -> None:
    done = gymposium("leaderboard", "rate", "nowhere")
    assert (done.returncode, "is not a board" in done.stderr) == (2, True)
    done = gymposium("leaderboard", "rate", "tiny", "--exact", "mcst-10")
    assert (done.returncode, "Its players: random, mcts-10, cfr-50." in done.stderr) == (2, True)
    done = gymposium("leaderboard", "rate", "tiny", "--exact", "mcts-10")
    assert (done.returncode, "it does not give the probabilities of its moves" in done.stderr) == (2, True)
    assert not (board / "entries" / "mcts-10" / "exact.json").exists()
    file = next(board.glob("entries/*/matches/kuhn_poker/*.jsonl"))
    file.write_bytes(file.read_bytes()[:-9])
    done = gymposium("leaderboard", "rate", "tiny")
    assert done.returncode == 0, done.stderr
    assert "left out 1 line that is not a record" in done.stderr


@pytest.mark.parametrize("verb", ["verify", "replay"])
def test_run_commands_recognize_a_board(gymposium: Run, board: Path, verb: str) -> None:
    done = gymposium(verb, "tiny")
    assert done.returncode == 2
    assert "It is a board. Name one of its match files, such as tiny/entries/" in done.stderr
    assert done.stderr.endswith("or verify the whole board:  gymposium leaderboard verify tiny\n")


@pytest.mark.slow
def test_payoff_without_shares_of_points_is_an_error(gymposium: Run, tmp_path: Path) -> None:
    (tmp_path / "solo.toml").write_text('name = "solo"\ngroups = 1\nplayers = ["random"]\n[[games]]\nname = "2048"\n')
    assert gymposium("leaderboard", "run", "solo.toml", "--out", "solo").returncode == 0
    done = gymposium("leaderboard", "rate", "solo", "--payoff")
    assert (done.returncode, "--payoff: no game of this board has a share of points" in done.stderr) == (2, True)


def test_refuses_to_rate_an_empty_board(gymposium: Run, tmp_path: Path) -> None:
    Board.open_or_create(tmp_path / "fresh", parse_suite(SUITE))
    done = gymposium("leaderboard", "rate", "fresh")
    assert done.returncode == 2
    assert "error: fresh: no matches to rate" in done.stderr
    assert not (tmp_path / "fresh" / "results.json").exists()
