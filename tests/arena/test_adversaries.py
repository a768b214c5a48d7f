"""Adversaries on a board meet only their target and have no ratings or ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

from gymposium.analysis.exact import find_best_response, tabulate_policy
from gymposium.analysis.exact.adversary import Adversary, Target, open_adversary
from gymposium.games.registry import load_game
from gymposium.players.identity import Identity
from gymposium.players.random import RandomPlayer
from gymposium_arena.board import Board
from gymposium_arena.results.file import compute_results, write_results
from gymposium_arena.results.words import format_mean
from gymposium_arena.schedule import make_lineups
from gymposium_arena.site.build import write_site
from gymposium_arena.suite import parse_suite

from .playing import play_board


@pytest.fixture
def board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Board:
    """A board of random play, search, and an adversary of random play, which stands before them."""
    monkeypatch.setenv("GYMPOSIUM_ALLOW", "exploit:*")
    monkeypatch.chdir(tmp_path)  # the seeds of matches follow from the names of players, in which the path stands
    path = Path("adversary.json")
    response = find_best_response(tabulate_policy(load_game("kuhn_poker"), RandomPlayer()))
    Adversary.from_response(response, Target.from_identity("random", {}, Identity()), "traversal").write(path)
    suite = f"""
name = "poker"
title = "Poker"
groups = 40
players = ["{open_adversary(str(path)).name}", "random", "mcts-10"]
[[games]]
name = "kuhn_poker"
"""
    made = Board.open_or_create(tmp_path / "board", parse_suite(suite))
    assert play_board(made).complete
    return made


def test_adversary_meets_only_its_target_and_is_unranked(board: Board, tmp_path: Path) -> None:
    adversary, target, search = (entry.player for entry in board.entries())
    met = [lineup.players for lineup in make_lineups(board.suite, board.entries())]
    assert met == [(adversary, target), (target, search)]
    results = compute_results(board, samples=200)
    (game,) = results.games
    assert game.players == [target, search]
    assert game.matches == 80
    assert game.board is not None
    assert [row.player for row in game.board.standings] == [search, target]
    assert results.joint_lacks == {}
    (found,) = game.adversaries
    assert (found.player, found.target, found.matches) == (adversary, target, 80)
    assert found.returned is not None
    assert found.returned.low is not None
    assert found.returned.high is not None
    assert found.returned.low <= 11 / 24 <= found.returned.high
    assert not found.target_changed


def test_changed_targets_are_detected(board: Board, tmp_path: Path) -> None:
    adversary, target, _ = board.entries()
    assert not target.has_changed_since(adversary)
    trained = target.model_copy(
        update={"revision": target.revision.model_copy(update={"files": {"adapter.safetensors": "sha256:1"}})}
    )
    assert trained.has_changed_since(adversary)
    found = compute_results(board, samples=50)
    (game,) = found.games
    changed = game.adversaries[0].model_copy(update={"target_changed": True})
    game = game.model_copy(update={"adversaries": [changed]})
    write_results(board, found.model_copy(update={"games": [game]}))
    write_site(board, tmp_path / "site")
    page = (tmp_path / "site" / "games" / "kuhn_poker.html").read_text()
    assert "files have changed since the adversary was fitted" in page


@pytest.mark.slow
def test_pages_show_the_adversary_beside_its_target(board: Board, tmp_path: Path) -> None:
    write_results(board, compute_results(board, samples=50))
    write_site(board, tmp_path / "site")
    page = (tmp_path / "site" / "games" / "kuhn_poker.html").read_text()
    assert "An adversary was fitted to one opponent" in page
    found = compute_results(board, samples=50).games[0].adversaries[0].returned
    assert f"gets {format_mean(found)} a match from" in page
