"""Checkers against pydraughts: every legal move with all its jumps, in random games.

`GYMPOSIUM_SEEDS` is the number of random games, 3 by default. Draws differ and are not compared."""

from __future__ import annotations

import itertools
import os
import random

import pytest

from gymposium import load_game
from gymposium.games.protocol import Match

draughts = pytest.importorskip("draughts", reason="pydraughts is installed on Linux only (dependency group rules)")

SEEDS = int(os.environ.get("GYMPOSIUM_SEEDS", "3"))
START = "W:W21,22,23,24,25,26,27,28,29,30,31,32:B1,2,3,4,5,6,7,8,9,10,11,12"
Path = tuple[str, ...]


def square(number: int) -> str:
    """Return the name of a numbered square: 1 is b8, 32 is g1."""
    row, place = divmod(number - 1, 4)
    return f"{'bdfh'[place] if row % 2 == 0 else 'aceg'[place]}{8 - row}"


def paths(match: Match, seat: int, start: Path = ()) -> set[Path]:
    """Return the legal moves as the squares that a piece visits, with all its jumps."""
    found = set[Path]()
    for move in match.legal_moves(seat) or []:
        child = match.fork(random.Random(0))
        child.apply({seat: move})
        path = (*(start or (move[:2],)), move[2:])
        found |= paths(child, seat, path) if child.to_move() == (seat,) else {path}
    return found


def kinds(match: Match, path: Path, legal: set[Path]) -> set[str]:
    """Return what is special about a capture."""
    board = match.observe(0, "compact").text.splitlines()
    piece = board[8 - int(path[0][1])].split()[-1][-8:]["abcdefgh".index(path[0][0])]
    if abs(int(path[1][1]) - int(path[0][1])) == 1:
        return set()
    found = {"several jumps"} if len(path) > 2 else set[str]()
    found |= {"a choice of captures"} if len(legal) > 1 else set()
    if piece in "WB":
        return found | {"a king"}
    return found | ({"a man is crowned"} if path[-1][1] in "18" else set())


def test_random_games_match_pydraughts() -> None:
    seen, lost = set[str](), 0
    for seed in range(SEEDS):
        rng = random.Random(seed)
        match, oracle = load_game("checkers").new(seed), draughts.Board("english", START)
        seat = 0
        while match.to_move():
            assert match.to_move() == (seat,)
            legal = {tuple(map(square, move.steps_move)): move for move in oracle.legal_moves()}
            assert paths(match, seat) == legal.keys()
            path = rng.choice(sorted(legal))
            seen |= kinds(match, path, set(legal))
            for start, end in itertools.pairwise(path):
                match.apply({seat: start + end})
            oracle.push(legal[path])
            seat = 1 - seat
        if match.returns() != (0.0, 0.0):
            assert not oracle.legal_moves()
            assert match.returns()[seat] == -1.0
            lost += 1
    assert seen == {"several jumps", "a choice of captures", "a king", "a man is crowned"}
    assert lost
