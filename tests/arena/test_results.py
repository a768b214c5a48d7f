"""Results of a played board follow from its records alone."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest

from gymposium.errors import BadRecord
from gymposium.match.ending import Ending
from gymposium_arena.board import Board
from gymposium_arena.results.file import compute_results, format_results, read_results, write_results
from gymposium_arena.results.model import GameResult, Results
from gymposium_arena.suite import parse_suite
from gymposium_arena.yardsticks import exact_path, write_exact

from .playing import play_board

BROKE_OFF = Ending("broke off", detail="OSError: gone")

SUITE = """
name = "small"
title = "A small board"
groups = 6
players = ["random", "mcts-10"]
[[games]]
name = "tic_tac_toe"
players = ["random", "mcts-10", "exact"]
[[games]]
name = "kuhn_poker"
[[games]]
name = "universal_poker(players=3)"
players = ["random", "mcts-10", "greedy"]
groups = 3
[[games]]
name = "coin_game"
players = ["random", "greedy"]
groups = 3
[[games]]
name = "openspiel:matrix_pd"
players = ["random", "greedy"]
groups = 20
[[games]]
name = "blackjack"
players = ["random", "stand-17"]
groups = 30
[[games]]
name = "openspiel:catch"
players = ["greedy"]
groups = 1
"""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    board = Board.open_or_create(tmp_path_factory.mktemp("boards") / "small", parse_suite(SUITE))
    assert play_board(board, workers=1).complete
    return board.path


@pytest.fixture(scope="module")
def results(played: Path) -> Results:
    return compute_results(Board(played), samples=200)


@pytest.fixture
def board(played: Path, tmp_path: Path) -> Board:
    shutil.copytree(played, tmp_path / "board")
    return Board(tmp_path / "board")


def game(results: Results, name: str) -> GameResult:
    return next(one for one in results.games if one.game == name)


def test_each_kind_of_game_has_its_measure(results: Results) -> None:
    measures = {one.game: (one.kind, one.model, one.board is not None, one.means is not None) for one in results.games}
    assert measures == {
        "tic_tac_toe": ("versus", "Bradley–Terry", True, False),
        "kuhn_poker": ("versus", "Bradley–Terry", True, False),
        "universal_poker(players=3)": ("versus", "Plackett–Luce", True, False),
        "coin_game": ("cooperative", None, False, True),
        "openspiel:matrix_pd": ("general_sum", None, False, True),
        "blackjack": ("solo", None, False, True),
        "openspiel:catch": ("solo", None, False, True),
    }
    assert results.joint_games == ["tic_tac_toe", "kuhn_poker", "universal_poker(players=3)"]
    assert [one.player for one in results.players] == ["random", "mcts-10", "exact", "greedy", "stand-17"]


def test_notes_explain_ratings_if_present(results: Results, tmp_path: Path) -> None:
    alone = """
name = "alone"
groups = 2
players = ["random"]
[[games]]
name = "blackjack"
"""
    unrated = compute_results(Board.open_or_create(tmp_path / "alone", parse_suite(alone)), samples=10).method.notes
    assert not any("Elo" in note for note in unrated)
    assert any("Elo" in note for note in results.method.notes)
    assert any("bootstrap" in note for note in unrated)


def test_joint_board_requires_all_games(results: Results) -> None:
    assert results.joint is not None
    assert {row.player for row in results.joint.standings} == {"random", "mcts-10"}
    assert results.joint_lacks["exact"] == ["kuhn_poker", "universal_poker(players=3)"]
    assert results.joint_lacks["stand-17"] == results.joint_games
    # two games of 12 matches; the matches of three seats include greedy, which is not on the joint board
    assert [row.matches for row in results.joint.standings] == [24, 24]


def test_single_game_board_is_rated_once(tmp_path: Path) -> None:
    head = 'name = "one"\ngroups = 2\nplayers = ["random", "greedy"]\n'
    board = Board.open_or_create(tmp_path / "one", parse_suite(f'{head}[[games]]\nname = "tic_tac_toe"\n'))
    assert play_board(board, workers=1).complete
    results = compute_results(board, samples=10)
    assert (results.joint, results.joint_lacks) == (None, {})
    assert game(results, "tic_tac_toe").board is not None
    assert not any("joint board" in note for note in results.method.notes)


def test_openings_are_at_most_half_a_match() -> None:
    games = ("tic_tac_toe", "connect_four", "openspiel:tic_tac_toe", "openspiel:nim(pile_sizes=1;2)", "kuhn_poker")
    suite = parse_suite('name = "short"\n' + "".join(f'[[games]]\nname = "{name}"\n' for name in games))
    assert [one.opening for one in suite.games] == [4, 4, 4, 1, 0]
    longer = parse_suite('name = "long"\nopening = 3\n[[games]]\nname = "openspiel:nim(pile_sizes=1;2)"\n')
    assert [one.opening for one in longer.games] == [3]


def test_board_figures_are_consistent(results: Results) -> None:
    result = game(results, "tic_tac_toe")
    assert (result.matches, result.deals, result.players) == (36, 6, ["random", "mcts-10", "exact"])
    assert result.board is not None
    ranks = {row.player: row for row in result.board.standings}
    assert [row.player for row in result.board.standings][-1] == "random"
    assert ranks["random"].rating == ranks["random"].low == 0.0
    for row in result.board.standings:
        assert row.place is not None
        assert row.place.best <= row.place.rank <= row.place.worst
    cell, back = result.board.payoff[0][2], result.board.payoff[2][0]
    assert cell is not None
    assert back is not None
    assert (cell.wins, cell.draws, cell.losses) == (back.losses, back.draws, back.wins)
    assert cell.wins + cell.draws + cell.losses == 12
    assert cell.share + back.share == pytest.approx(1.0)
    assert result.board.payoff[0][0] is None
    assert result.returns is not None
    assert result.returns[0][2] == pytest.approx(cell.share * 2 - 1, abs=1e-3)


def test_yardsticks_match_the_games(results: Results) -> None:
    tic_tac_toe, kuhn = game(results, "tic_tac_toe").yardsticks, game(results, "kuhn_poker").yardsticks
    assert tic_tac_toe.most_wins_against_random == pytest.approx(0.966708)
    assert kuhn.best_return_against_random == pytest.approx(11 / 24)
    assert kuhn.most_wins_against_random is None
    measured = {one.player: one for one in tic_tac_toe.players}
    assert measured.keys() == {"random", "exact"}
    assert (measured["exact"].exploitability, measured["exact"].exact) == (0.0, True)
    assert [(one.player, one.exploitability) for one in kuhn.players] == [("random", pytest.approx(11 / 24))]
    assert game(results, "blackjack").yardsticks.players == []


def test_mean_returns_beat_random(results: Results) -> None:
    means = game(results, "blackjack").means
    assert means is not None
    assert [(row.player, row.matches) for row in means] == [("stand-17", 30), ("random", 30)]
    assert means[0].over_anchor is not None
    assert means[0].over_anchor.value > 0.0
    assert means[1].over_anchor is not None
    assert (means[1].over_anchor.low, means[1].over_anchor.high) == (0.0, 0.0)
    alone = game(results, "openspiel:catch").means
    assert alone is not None
    assert [(row.player, row.over_anchor) for row in alone] == [("greedy", None)]  # random did not play
    together = game(results, "coin_game")
    assert [(row.player, row.matches) for row in together.means or ()] == [("random", 3), ("greedy", 3)]


def test_general_sum_pairings_have_both_mean_returns(results: Results) -> None:
    prisoners = game(results, "openspiel:matrix_pd")
    assert prisoners.matches == 40
    assert prisoners.returns is not None
    assert prisoners.returns[0][0] is None
    means = {row.player: row.returned for row in prisoners.means or ()}
    for one, other in ((0, 1), (1, 0)):
        estimate = means[prisoners.players[one]]
        assert estimate is not None
        assert prisoners.returns[one][other] == estimate.value
    assert game(results, "blackjack").returns is None
    assert game(results, "coin_game").returns is None


def test_conduct_is_counted_from_records(played: Path, results: Results) -> None:
    random = results.players[0].conduct
    records = [record for _, record in Board(played).records()]
    assert random.matches == sum("random" in record.players for record in records)  # type: ignore[union-attr]
    assert (
        random.replies["illegal"]
        == random.replies["unparsable"]
        == random.forfeits
        == sum(random.failures.values())
        == 0
    )
    assert random.replies["move"] > random.matches


def test_results_are_deterministic_and_round_trip(board: Board, results: Results) -> None:
    again = compute_results(board, samples=200)
    assert format_results(again) == format_results(results)
    assert read_results(write_results(board, again)) == results


def test_schema_covers_every_field(results: Results) -> None:
    schema = Results.model_json_schema()
    data = json.loads(format_results(results))
    assert set(data) == set(schema["properties"]) == set(schema["required"]) | {"format"}
    data["games"][0]["board"]["standings"][0]["rating"] = "high"
    with pytest.raises(ValueError, match="rating"):
        Results.model_validate(data)


def test_truncated_lines_are_skipped_and_reported(board: Board, results: Results) -> None:
    file = next(board.path.glob("entries/*/matches/kuhn_poker/*.jsonl"))
    file.write_bytes(file.read_bytes()[:-20])
    torn = compute_results(board, samples=20)
    assert torn.unreadable == 1
    assert game(torn, "kuhn_poker").matches == game(results, "kuhn_poker").matches - 1


def test_broken_matches_are_counted_separately(board: Board, results: Results) -> None:
    file = next(board.path.glob("entries/*/matches/kuhn_poker/*.jsonl"))
    first, *others = file.read_text().splitlines()
    broken = json.dumps(
        {
            **json.loads(first),
            "ending": asdict(BROKE_OFF),
            "returns": [],
            "results": [],
        }
    )
    for lines, errors, matches in (([broken, *others], 1, 11), ([broken, first, *others], 0, 12)):
        file.write_text("".join(f"{line}\n" for line in lines))
        result = game(compute_results(board, samples=20), "kuhn_poker")
        assert (result.errors, result.matches, result.forfeits) == (errors, matches, 0)


def test_counts_duplicate_records_once(board: Board, results: Results) -> None:
    file = next(board.path.glob("entries/*/matches/kuhn_poker/*.jsonl"))
    file.write_text(file.read_text() * 2)
    result = game(compute_results(board, samples=200), "kuhn_poker")
    assert result.duplicates == 12
    assert result.board == game(results, "kuhn_poker").board


def test_refuses_matches_of_unknown_players(board: Board) -> None:
    file = next(board.path.glob("entries/*/matches/kuhn_poker/*.jsonl"))
    file.write_text(file.read_text().replace('"mcts-10"', '"mcts-9999"'))
    with pytest.raises(BadRecord, match=r"kuhn_poker between .*mcts-9999.*is not on this board"):
        compute_results(board, samples=20)


def test_empty_board_has_results(tmp_path: Path) -> None:
    results = compute_results(Board.open_or_create(tmp_path / "empty", parse_suite(SUITE)), samples=20)
    assert results.joint is None
    assert all(one.board is None and not one.players for one in results.games)
    assert Results.model_validate_json(format_results(results)) == results


@pytest.mark.slow
def test_exact_figures_of_an_entry_are_shown(board: Board, results: Results) -> None:
    entry = board.entries()[1]
    path = write_exact(board, board.entries()[0])
    assert sorted(json.loads(path.read_text())["games"]) == ["kuhn_poker", "openspiel:matrix_pd", "tic_tac_toe"]
    write_exact(board, board.entries()[0].model_copy(update={"games": ("tic_tac_toe",)}))
    assert list(json.loads(path.read_text())["games"]) == ["tic_tac_toe"], "it does not play the other one"
    write_exact(board, board.entries()[0])
    content = json.loads(path.read_text())
    content["games"]["kuhn_poker"]["exploitability"] = 0.25
    path.write_text(json.dumps(content))
    assert game(compute_results(board, samples=20), "kuhn_poker").yardsticks.players[0].exploitability == 0.25
    exact_path(board, entry).write_text(json.dumps(content))
    with pytest.raises(BadRecord, match="belongs to random, not to mcts-10"):
        compute_results(board, samples=20)


def test_unreadable_results_suggest_the_rate_command(tmp_path: Path) -> None:
    with pytest.raises(BadRecord, match="leaderboard rate"):
        read_results(tmp_path / "results.json")
    (tmp_path / "results.json").write_text("{}")
    with pytest.raises(BadRecord, match="suite: Field required"):
        read_results(tmp_path / "results.json")
