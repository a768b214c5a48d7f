"""Reviews on a board: losses per move on pages, in results, and in verification."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gymposium.analysis.review import get_review_path
from gymposium.analysis.review.update import review_file
from gymposium.errors import BadRecord
from gymposium.runs.executors.local import LocalExecutor
from gymposium_arena.board import Board
from gymposium_arena.results.file import compute_results, write_results
from gymposium_arena.site.build import write_site
from gymposium_arena.suite import parse_suite
from gymposium_arena.verify import verify_board

from .playing import play_board

SUITE = """
name = "small"
groups = 6
players = ["random", "exact"]
[[games]]
name = "tic_tac_toe"
[[games]]
name = "kuhn_poker"
players = ["random", "cfr-20"]
"""


@pytest.fixture
def executor() -> Iterator[LocalExecutor]:
    with closing(LocalExecutor(1)) as made:
        yield made


@pytest.fixture
def board(tmp_path: Path, executor: LocalExecutor) -> Board:
    """A board with reviews of all its matches."""
    made = Board.open_or_create(tmp_path / "board", parse_suite(SUITE))
    assert play_board(made).complete
    for file in made.files():
        review_file(file, None, executor)
    return made


def test_results_report_losses_per_move(board: Board) -> None:
    tic_tac_toe, kuhn = compute_results(board, samples=100).games
    assert tic_tac_toe.lost is not None
    assert kuhn.lost is not None
    assert (tic_tac_toe.lost.judge, kuhn.lost.judge) == ("exact", "cfr-1000")
    assert kuhn.lost.table.startswith("sha256:")
    best, random = tic_tac_toe.lost.players
    assert (best.player, best.per_move.value, best.failures) == ("exact", 0.0, 0)
    assert random.per_move.low is not None
    assert random.per_move.low > 0.02


def test_board_without_reviews_reports_no_losses(board: Board) -> None:
    for file in board.files():
        get_review_path(file).unlink()
    assert [game.lost for game in compute_results(board, samples=100).games] == [None, None]


@pytest.mark.slow
def test_reviews_of_a_game_share_one_judge(board: Board, executor: LocalExecutor) -> None:
    kuhn = [file for file in board.files() if "kuhn" in str(file)]
    assert len(kuhn) == 1
    review_file(kuhn[0], "cfr-20", executor)
    lost = compute_results(board, samples=100).games[1].lost
    assert lost is not None
    assert lost.judge == "cfr-20"
    board.add(["mcts-5"], None)
    assert play_board(board).complete
    new = [file for file in board.files() if "kuhn" in str(file) and file not in kuhn]
    for file in new:
        review_file(file, "cfr-21", executor)
    with pytest.raises(BadRecord, match=r"was reviewed by .* but other matches of kuhn_poker by"):
        compute_results(board, samples=100)


@pytest.mark.slow
def test_pages_show_reviews(board: Board, tmp_path: Path) -> None:
    write_results(board, compute_results(board, samples=100))
    site = write_site(board, tmp_path / "site", replays=2)
    page = (tmp_path / "site" / site.game_path("tic_tac_toe")).read_text()
    assert "What the moves gave away" in page
    assert "judged by exact" in page
    drawn = [(tmp_path / "site" / path).read_text() for path in site.pages.values()]
    assert all('<section class="curve">' in one for one in drawn)
    assert any("lost the match" in one for one in drawn)


def test_verification_checks_reviews(board: Board) -> None:
    assert not verify_board(board, seed=1).findings
    file = next(get_review_path(file) for file in board.files())
    content = json.loads(file.read_text())

    def found(**changes: object) -> str:
        file.write_text(json.dumps({**content, **changes}))
        return " ".join(str(finding) for finding in verify_board(board, seed=1).findings)

    match, review = next(iter(content["matches"].items()))
    (step, seat, failed, before, *rest), *others = review["decisions"]
    forged = {**review, "decisions": [[step, seat, failed, before + 0.5, *rest], *others]}
    assert "its review differs from the judge's" in found(matches={**content["matches"], match: forged})
    assert "which the match file does not have" in found(matches={"nobody": review})
    assert "is wrong" in found(returns=[-2, 1])
    assert "Use exact, cfr-N or search-N" in found(judge="magic")
    assert "holds no reviews" in found(format="other")
    file.write_text(json.dumps(content))
    assert not verify_board(board, seed=1).findings
    (board.path / "entries" / "notes.review.json").write_text("{}")
    assert "does not belong" in " ".join(str(finding) for finding in verify_board(board, seed=1).findings)
