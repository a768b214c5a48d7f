"""Hex against an independent model written from the rules text alone, and against the engine."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings, strategies as st

from gymposium import load_game
from gymposium.games.openspiel.adapter import OpenSpielGame

from ..boards import (
    check_board,
    check_engine,
    check_forks,
    check_leaks_of_example,
    check_ranges,
    check_refused,
    check_seats,
    examples,
    move_by,
    rngs,
    squares,
)


@given(st.integers(3, 19), rngs)
@settings(max_examples=25)
def test_play_agrees_with_the_rules_model(size: int, rng: random.Random) -> None:
    match = load_game("hex", board_size=size).new(0)
    board = dict.fromkeys(squares(size, size), ".")
    last = chr(ord("a") + size - 1)
    assert f"a board of {size} by {size}" in match.game.rules(0)
    sides = {
        "x": (lambda square: square[1:] == "1", lambda square: square[1:] == str(size)),
        "o": (lambda square: square[0] == "a", lambda square: square[0] == last),
    }
    goals = (f"join top (row 1) to bottom (row {size})", f"join left (column a) to right (column {last})")
    for seat in (0, 1):
        assert match.game.rules(seat).endswith(
            f"You play {'xo'[seat]}, move {('first', 'second')[seat]} and {goals[seat]}.\n"
        )
        assert f"you are {'xo'[seat]} and {goals[seat]}" in match.game.rules(seat, "compact")
    # b2 touches b1 and c1 above, a2 and c2 beside it, a3 and b3 below
    touching = [(0, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (0, 1)]
    assert [move_by("b2", *step) for step in touching] == ["b1", "c1", "a2", "c2", "a3", "b3"]

    def joined(mark: str) -> bool:
        start, goal = sides[mark]
        chain = [square for square in board if board[square] == mark and start(square)]
        seen = set(chain)
        while chain:
            square = chain.pop()
            if goal(square):
                return True
            near = {move_by(square, *step) for step in touching}
            new = {at for at in near if board.get(at) == mark} - seen
            seen |= new
            chain += new
        return False

    turns = 0
    while not joined("x") and not joined("o"):
        seat = turns % 2
        assert match.to_move() == (seat,)
        free = sorted(square for square in board if board[square] == ".")
        if turns % 7 == 0:
            check_board(match, board)
            assert sorted(match.legal_moves(seat) or []) == free
        move = rng.choice(free)
        match.apply({seat: move})
        board[move] = "xo"[seat]
        turns += 1
    check_board(match, board)
    assert match.to_move() == ()
    assert match.returns() == ((1.0, -1.0) if joined("x") else (-1.0, 1.0))


@pytest.mark.parametrize("size", [5, 11, 19])
def test_hexagons_of_a_board_line_up(size: int) -> None:
    lines = load_game("hex", board_size=size).new(0).observe(0).text.splitlines()[1:]
    first = [line.index(".") for line in lines[1:]]
    assert first == list(range(first[0], first[0] + size)), "each row is half a cell, one character, to the right"
    assert lines[0].index("a") == first[0]


@pytest.mark.parametrize("game", examples("hex", "hex(board_size=3)", "hex(board_size=19)"), ids=lambda game: game.name)
def test_moves_positions_and_returns_match_the_engine(game: OpenSpielGame) -> None:
    check_engine(game)


def test_parameter_ranges_are_enforced() -> None:
    check_ranges("hex", {"board_size": (3, 19)})


def test_prompts_tell_each_seat_its_side() -> None:
    check_seats("hex", "xo")


def test_each_style_shows_exactly_what_the_seat_knows() -> None:
    check_leaks_of_example("hex")


def test_distinguishes_illegal_from_unparsable_replies() -> None:
    check_refused("hex(board_size=12)", [], ["m1", "a13", "a0", "A1", "a01", "1a"])


def test_forks_continue_independently() -> None:
    check_forks("hex")
