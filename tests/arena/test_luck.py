"""Luck-corrected returns on a board: narrower intervals with coverage, exact values, and poker ranking."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from gymposium.analysis.exact import compute_value, tabulate_policy
from gymposium.analysis.exact.players import CfrPlayer
from gymposium.games.registry import load_game
from gymposium.players.random import RandomPlayer
from gymposium_arena.board import Board
from gymposium_arena.outcomes import MatchOutcome
from gymposium_arena.ratings.bootstrap import draw_deal_weights, make_generator
from gymposium_arena.ratings.luck import correct_for_luck
from gymposium_arena.ratings.returns import compute_means, sum_returns
from gymposium_arena.results.file import compute_results, write_results
from gymposium_arena.results.make import pays_amounts
from gymposium_arena.site.build import write_site
from gymposium_arena.suite import parse_suite

from .playing import play_board


def make_board(tmp_path: Path, games: str, groups: int = 60) -> Board:
    suite = f'name = "poker"\ngroups = {groups}\nplayers = ["random", "mcts-20", "cfr-50"]\n{games}'
    made = Board.open_or_create(tmp_path / "board", parse_suite(suite))
    assert play_board(made).complete
    return made


@pytest.fixture
def board(tmp_path: Path) -> Board:
    """A board of Kuhn poker alone."""
    return make_board(tmp_path, '[[games]]\nname = "kuhn_poker"')


@pytest.mark.slow
def test_known_policies_have_an_exact_value(board: Board) -> None:
    (game,) = compute_results(board, samples=200).games
    assert game.luck is not None
    assert (game.luck.table, game.luck.known) == ("cfr-1000", ["random", "cfr-50"])
    rows = {(row.player, row.opponent): row for row in game.luck.pairs}
    assert len(rows) == 3
    both = rows["random", "cfr-50"]
    kuhn = load_game("kuhn_poker")
    truth = compute_value(tabulate_policy(kuhn, RandomPlayer()), tabulate_policy(kuhn, CfrPlayer(50))).mean.mean_return
    assert (both.exact, both.corrected.low) == (True, None)
    assert both.corrected.value == pytest.approx(truth, abs=1e-4)
    other = rows["mcts-20", "cfr-50"]
    assert not other.exact
    assert None not in (other.plain.low, other.plain.high, other.corrected.low, other.corrected.high)
    assert other.corrected.high - other.corrected.low < other.plain.high - other.plain.low  # type: ignore[operator]


@pytest.mark.slow
def test_poker_boards_are_ordered_by_returns(board: Board, tmp_path: Path) -> None:
    results = compute_results(board, samples=200)
    assert results.joint is None
    (game,) = results.games
    assert game.board is not None
    won = [row.corrected.value for row in game.board.standings if row.corrected is not None]
    assert won == sorted(won, reverse=True)
    assert game.board.flip is None
    write_results(board, results)
    write_site(board, tmp_path / "site", replays=1)
    index = (tmp_path / "site" / "index.html").read_text()
    assert "mean return, less luck" in index
    assert "There is no joint board" not in index
    page = next((tmp_path / "site" / "games").iterdir()).read_text()
    assert "Corrected for luck" in page
    assert "exactly</td>" in page


def test_other_boards_are_unchanged(tmp_path: Path) -> None:
    both = '[[games]]\nname = "kuhn_poker"\n[[games]]\nname = "tic_tac_toe"\nplayers = ["random", "mcts-20"]'
    results = compute_results(make_board(tmp_path, both, groups=4), samples=100)
    assert results.joint is not None
    assert [game.luck is None for game in results.games] == [False, True]


@pytest.mark.parametrize(
    ("game", "amounts"),
    [("kuhn_poker", True), ("leduc_poker", True), ("liars_dice", False), ("backgammon", False), ("tic_tac_toe", False)],
)
def test_detects_games_that_pay_amounts(game: str, amounts: bool) -> None:
    assert pays_amounts(load_game(game)) == amounts


@pytest.mark.parametrize(
    "noise", [1.0, pytest.param(0.1, marks=pytest.mark.slow), pytest.param(10.0, marks=pytest.mark.slow)]
)
def test_corrected_intervals_cover_the_truth(noise: float) -> None:
    """Made-up matches: luck of variance 1, of which the correction knows all but some noise."""
    draws, held, widths = random.Random(3), 0, []
    for number in range(200):
        outcomes = []
        for deal in range(60):
            for seats in (("a", "b"), ("b", "a")):
                luck, own = draws.gauss(0, 1), draws.gauss(0.3, 0.5)
                sign = 1 if seats[0] == "a" else -1
                plain, rest = sign * (own + luck), sign * (own + draws.gauss(0, noise))
                corrected = (rest, -rest)
                digest = f"{number}-{deal}-{seats}"
                outcomes.append(MatchOutcome("g", str(deal), seats, (plain, -plain), None, digest, corrected))
        found = []
        for some in (outcomes, correct_for_luck(outcomes)):
            returns = sum_returns(some, ["a", "b"])
            found.append(compute_means(returns, draw_deal_weights(make_generator(number, "test"), 300, 60), (-9, 9)))
        plain_means, less = found
        held += less.low[0] <= 0.3 <= less.high[0]
        widths.append((less.high[0] - less.low[0]) / (plain_means.high[0] - plain_means.low[0]))
    assert held / 200 >= 0.9
    assert sorted(widths)[100] <= {0.1: 0.55, 1.0: 0.9, 10.0: 1.02}[noise]


def test_few_deals_are_not_corrected() -> None:
    outcomes = [MatchOutcome("g", str(n), ("a", "b"), (n, -n), None, str(n), (0.0, 0.0)) for n in range(9)]
    assert correct_for_luck(outcomes) == outcomes
