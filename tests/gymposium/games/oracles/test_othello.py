"""Othello against rust-reversi: legal moves, passes, discs and results of random games.

`GYMPOSIUM_SEEDS` is the number of random games, 10 by default."""

from __future__ import annotations

import os
import random
from typing import Any

import pytest

from gymposium import load_game
from gymposium.games.protocol import Match

rust_reversi = pytest.importorskip("rust_reversi", reason="needs the dependency group rules")

SEEDS = int(os.environ.get("GYMPOSIUM_SEEDS", "10"))


def name(place: int) -> str:
    return f"{'abcdefgh'[place % 8]}{place // 8 + 1}"


def check(match: Match, oracle: Any) -> bool:
    """Compare a position. Returns whether the game is over."""
    over: bool = oracle.is_game_over()
    assert (match.to_move() == ()) == over
    counts = oracle.black_piece_num(), oracle.white_piece_num()
    assert f"Discs: x {counts[0]}, o {counts[1]}." in match.observe(0).text
    if over:
        sign = float(counts[0] > counts[1]) - float(counts[0] < counts[1])
        assert match.returns() == (sign, -sign)
        return True
    (seat,) = match.to_move()
    assert seat == int(oracle.get_turn() == rust_reversi.Turn.WHITE)
    legal = {"pass"} if oracle.is_pass() else set(map(name, oracle.get_legal_moves_vec()))
    assert set(match.legal_moves(seat) or []) == legal
    return False


def play(match: Match, oracle: Any, move: str) -> bool:
    """Play a move in both. Returns whether the game is over."""
    match.apply({match.to_move()[0]: move})
    if move == "pass":
        oracle.do_pass()
    else:
        oracle.do_move("abcdefgh".index(move[0]) + 8 * (int(move[1]) - 1))
    return check(match, oracle)


def test_random_games_match_rust_reversi() -> None:
    passes = 0
    for seed in range(SEEDS):
        rng = random.Random(seed)
        match, oracle = load_game("othello").new(seed), rust_reversi.Board()
        over = check(match, oracle)
        while not over:
            move = rng.choice(match.legal_moves(match.to_move()[0]) or [])
            passes += move == "pass"
            over = play(match, oracle, move)
    assert passes


WIPED_OUT = {"nine moves": "e6 f4 e3 f6 g5 d6 e7 f5 c5", "nine others": "d3 c3 f5 f4 f3 d2 d1 e3 b3"}


@pytest.mark.parametrize("moves", WIPED_OUT.values(), ids=WIPED_OUT)
def test_game_ends_with_a_players_last_disc(moves: str) -> None:
    match, oracle = load_game("othello").new(0), rust_reversi.Board()
    assert [play(match, oracle, move) for move in moves.split()] == [False] * 8 + [True]
    assert match.returns() == (1.0, -1.0)
