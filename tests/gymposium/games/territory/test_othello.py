"""Othello against an independent model written from the rules text alone, and against the engine."""

from __future__ import annotations

import random

import pytest

from gymposium import load_game
from gymposium.games.openspiel.adapter import OpenSpielGame
from gymposium.games.protocol import Event, Match

from ..boards import (
    AROUND,
    Board,
    check_board,
    check_engine,
    check_forks,
    check_leaks_of_example,
    check_ranges,
    check_refused,
    check_seats,
    examples,
    move_by,
    squares,
)


def enclosed(board: Board, square: str, mine: str) -> list[str]:
    found: list[str] = []
    for right, up in AROUND:
        run, at = [], move_by(square, right, up)
        while board.get(at, ".") not in (".", mine):
            run.append(at)
            at = move_by(at, right, up)
        if board.get(at) == mine:
            found += run
    return found


def list_moves(board: Board, mine: str) -> list[str]:
    return sorted(square for square in board if board[square] == "." and enclosed(board, square, mine))


def play_by_rules(match: Match, rng: random.Random) -> tuple[float, bool]:
    """Return the result for x, and whether a player had to pass."""
    board = dict.fromkeys(squares(8, 8), ".") | {"d4": "o", "e5": "o", "e4": "x", "d5": "x"}
    mine, passed = "x", False
    while list_moves(board, "x") or list_moves(board, "o"):
        check_board(match, board)
        counts = [list(board.values()).count(mark) for mark in "xo"]
        assert f"Discs: x {counts[0]}, o {counts[1]}." in match.observe(0).text
        seat = "xo".index(mine)
        assert match.to_move() == (seat,)
        legal = list_moves(board, mine)
        assert sorted(match.legal_moves(seat) or []) == (legal or ["pass"])
        move = rng.choice(legal or ["pass"])
        match.apply({seat: move})
        if move == "pass":
            passed = True
        else:
            board |= dict.fromkeys([move, *enclosed(board, move, mine)], mine)
        mine = "xo"[1 - seat]
    check_board(match, board)
    assert match.to_move() == ()
    x, o = (list(board.values()).count(mark) for mark in "xo")
    return float((x > o) - (x < o)), passed


def test_play_agrees_with_the_rules_model() -> None:
    ends = set()
    for seed in range(25):
        match = load_game("othello").new(0)
        result, passed = play_by_rules(match, random.Random(seed))
        assert match.returns() == (result, -result)
        ends.add((result, passed))
    assert {(1.0, True), (-1.0, True)} <= ends, "somebody had to pass, and both have won"
    assert 0.0 in {result for result, _ in ends}
    assert "a1 is top left, h8 bottom right" in match.game.rules(0)


def test_game_may_end_long_before_a_full_board() -> None:
    moves = "e6 f4 e3 f6 g5 d6 e7 f5 c5".split()  # the shortest game that there is
    match = load_game("othello").load([Event(i % 2, move) for i, move in enumerate(moves)])
    assert match.to_move() == ()
    assert match.returns() == (1.0, -1.0)
    assert match.observe(1).text.startswith("You are o. Discs: x 13, o 0. The board:\n")


@pytest.mark.parametrize("game", examples("othello"), ids=lambda game: game.name)
def test_moves_positions_and_returns_match_the_engine(game: OpenSpielGame) -> None:
    check_engine(game)


def test_parameter_ranges_are_enforced() -> None:
    check_ranges("othello", {})


def test_prompts_tell_each_seat_its_side() -> None:
    check_seats("othello", "xo")


@pytest.mark.slow
def test_each_style_shows_exactly_what_the_seat_knows() -> None:
    check_leaks_of_example("othello")


def test_distinguishes_illegal_from_unparsable_replies() -> None:
    check_refused("othello", ["a1", "pass", "d4"], ["D3", "a9", "i1", "a0", "d3.", "Pass"])


def test_forks_continue_independently() -> None:
    check_forks("othello")
