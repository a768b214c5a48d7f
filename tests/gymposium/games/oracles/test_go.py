"""Go against the engine of PettingZoo (Minigo's): legal moves, captures, ko and the count of random games.

`GYMPOSIUM_SEEDS` is the number of random games, 5 by default. Minigo's players go on when a position comes back; here
the game is then drawn."""

from __future__ import annotations

import importlib
import os
import random
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from gymposium import load_game
from gymposium.games.protocol import Match

SEEDS = int(os.environ.get("GYMPOSIUM_SEEDS", "5"))
SIZE = 5
KOMI = 0.5


@pytest.fixture(scope="module")
def minigo() -> Iterator[Any]:
    """Return Minigo's rules for a small board; the size is read when the module is imported."""
    names = ["pettingzoo.classic.go.go_base", "pettingzoo.classic.go.coords"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BOARD_SIZE", str(SIZE))
        for name in names:
            patch.delitem(sys.modules, name, raising=False)
        module = importlib.import_module(names[0])
        for name in names:
            patch.delitem(sys.modules, name)
        yield module


def where(move: str) -> tuple[int, int] | None:
    return None if move == "pass" else (SIZE - int(move[1:]), "ABCDE".index(move[0]))


def check(match: Match, oracle: Any) -> bool:
    """Compare a position. Returns whether the game is over."""
    seat = int(oracle.to_play == -1)
    rows = match.observe(seat, "compact").text.splitlines()[:SIZE]
    assert [row[-SIZE:] for row in rows] == ["".join(".XO"[cell] for cell in row) for row in oracle.board]
    if match.to_move() == ():
        return True
    assert match.to_move() == (seat,)
    legal = oracle.all_legal_moves()
    points = [f"{'ABCDE'[column]}{SIZE - row}" for row in range(SIZE) for column in range(SIZE)]
    assert set(match.legal_moves(seat) or []) == {"pass", *(point for point, may in zip(points, legal) if may)}
    return False


def play_both(match: Match, oracle: Any, move: str, seen: set[bytes]) -> tuple[Any, bool]:
    """Play a move in both. Returns the oracle's new position, and whether the game is over."""
    match.apply({match.to_move()[0]: move})
    oracle = oracle.play_move(where(move))
    over = check(match, oracle)
    board = oracle.board.tobytes()
    again = move != "pass" and board in seen
    seen.add(board)
    assert over == (again or oracle.is_game_over() or oracle.n == 2 * SIZE * SIZE)
    if over:
        result = 0.0 if again else float(oracle.result())
        assert match.returns() == (result, -result)
    return oracle, over


def begin(minigo: Any) -> tuple[Match, Any, set[bytes]]:
    oracle = minigo.Position(komi=KOMI)
    return load_game("go", board_size=SIZE, komi=KOMI).new(0), oracle, {oracle.board.tobytes()}


def test_random_games_match_minigo(minigo: Any) -> None:
    for seed in range(SEEDS):
        rng = random.Random(seed)
        match, oracle, seen = begin(minigo)
        over = check(match, oracle)
        while not over:
            moves = match.legal_moves(match.to_move()[0]) or []
            stones = [move for move in moves if move != "pass"]
            move = rng.choice(stones) if stones and rng.random() < 0.93 else "pass"
            oracle, over = play_both(match, oracle, move, seen)


SPECIAL = {
    "ko": "B3 C3 C4 D4 C2 D2 A1 E3 D3",
    "a ko that is taken back later": "B3 C3 C4 D4 C2 D2 A1 E3 D3 E5 A5 C3",
    "a capture in the corner": "A2 A1 B1",
    "suicide is not allowed": "A2 pass B1 pass",
    "a stone that captures is no suicide": "A2 A3 B1 B2 E5 C1 D5 A1",
    "snapback": "A2 A1 pass B2 pass A3 B1",
    "two passes": "C3 pass pass",
    "points that nobody owns": "C3 A1 pass pass",
    "several chains at once": "B1 A1 A3 A2 B2",
}


@pytest.mark.parametrize("moves", SPECIAL.values(), ids=SPECIAL)
def test_special_positions_match_minigo(minigo: Any, moves: str) -> None:
    match, oracle, seen = begin(minigo)
    for move in moves.split():
        oracle, _ = play_both(match, oracle, move, seen)
