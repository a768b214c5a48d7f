"""Tic-tac-toe against PettingZoo's board, in every position."""

from __future__ import annotations

import random

from pettingzoo.classic.tictactoe.board import TTT_GAME_NOT_OVER, TTT_TIE, Board

from gymposium import load_game
from gymposium.games.protocol import Match


def name(place: int) -> str:
    """Return the square at a place of PettingZoo's board, which is numbered down the columns."""
    return f"{'abc'[place // 3]}{3 - place % 3}"


def check(match: Match, board: Board, seen: set[tuple[int, ...]]) -> None:
    """Compare this position and all that follow from it."""
    status = board.game_status()
    if status != TTT_GAME_NOT_OVER:
        assert match.to_move() == ()
        assert match.returns() == {0: (1.0, -1.0), 1: (-1.0, 1.0), TTT_TIE: (0.0, 0.0)}[status]
        return
    seat = (9 - board.squares.count(0)) % 2
    assert match.to_move() == (seat,)
    places = board.legal_moves()
    assert set(match.legal_moves(seat) or []) == set(map(name, places))
    for place in places:
        after = Board()
        after.squares = board.squares.copy()
        after.play_turn(seat, place)
        if (position := tuple(after.squares)) in seen:
            continue
        seen.add(position)
        child = match.fork(random.Random(0))
        child.apply({seat: name(place)})
        check(child, after, seen)


def test_every_position_matches_pettingzoo() -> None:
    seen = {(0,) * 9}
    check(load_game("tic_tac_toe").new(0), Board(), seen)
    assert len(seen) == 5478
