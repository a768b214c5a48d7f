"""The choice of matches with pages, most informative first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from gymposium.match.ending import OVER, Ending
from gymposium_arena.board import Board
from gymposium_arena.results.file import read_results
from gymposium_arena.site.choice import ExpectedPoints, choose_matches, find_worst_losses
from gymposium_arena.site.played import BoardMatches, PlayedLineup, PlayedMatch, read_board_matches


def match(number: int, *results: str, forfeit: int | None = None, counts: bool = True) -> PlayedMatch:
    ending = OVER if forfeit is None else Ending("no legal move", forfeit)
    return PlayedMatch(f"s/g/l/{number}-0", number, ("random", "mcts-5"), (0.0, 0.0), results, ending, counts)


@pytest.fixture(scope="module")
def played(rated: Path) -> BoardMatches:
    return read_board_matches(Board(rated))


@pytest.fixture(scope="module")
def expected(rated: Path) -> ExpectedPoints:
    return ExpectedPoints(read_results(rated / "results.json"))


def choose(matches: Sequence[PlayedMatch], expected: ExpectedPoints, most: int) -> list[str]:
    lineup = PlayedLineup("tic_tac_toe", ("random", "mcts-5"), [[one] for one in matches])
    return choose_matches([], [lineup], expected, most)


def test_matches_are_chosen_by_kind_without_duplicates(expected: ExpectedPoints) -> None:
    draw, loss, loss_2 = match(0, "draw", "draw"), match(1, "loss", "win"), match(6, "loss", "win")
    upset, again = match(2, "win", "loss"), match(3, "win", "loss", counts=False)
    forfeit, forfeit_2 = match(4, "loss", "win", forfeit=0), match(5, "loss", "win", forfeit=0)
    assert expected.compute_share(upset, "tic_tac_toe", 1) > 0.5
    order = [one.id for one in (forfeit, upset, loss, forfeit_2, loss_2, draw)]
    for most in range(8):
        assert choose([draw, loss, upset, again, forfeit, forfeit_2, loss_2], expected, most) == order[:most]


def test_every_worst_loss_has_a_page(played: BoardMatches, expected: ExpectedPoints) -> None:
    players = sorted({player for lineup in played.lineups for player in lineup.players})
    ids = choose_matches(players, played.lineups, expected, 1)
    assert len(ids) == len(set(ids))
    for player in players:
        losses = find_worst_losses(player, played.lineups, expected)
        assert all(loss.match.players[loss.seat] == player for loss in losses)
        assert all(loss.match.results[loss.seat] == "loss" for loss in losses)
        forfeits = [loss.match.ending.seat == loss.seat for loss in losses]
        assert forfeits == sorted(forfeits), "forfeits come last"
        for kind in (False, True):
            shares = [loss.share for loss, forfeit in zip(losses, forfeits, strict=True) if forfeit is kind]
            assert shares == sorted(shares, reverse=True)
        assert {loss.match.id for loss in losses[:12]} <= set(ids)
    assert choose_matches(players, played.lineups, expected, 0) == []
