"""Breakthrough against an independent model written from the rules text alone, and against the engine."""

from __future__ import annotations

import itertools
import random
import re

import pytest
from hypothesis import given, settings, strategies as st

from gymposium import load_game
from gymposium.games.openspiel.adapter import OpenSpielGame
from gymposium.games.protocol import Event

from ..boards import (
    check_board,
    check_engine,
    check_forks,
    check_leaks_of_example,
    check_ranges,
    check_refused,
    check_seats,
    draw_board,
    examples,
    move_by,
    rngs,
    squares,
)

CORNERS = [f"breakthrough(rows={rows},columns={columns})" for rows, columns in itertools.product((3, 9), (2, 12))]


@given(st.integers(3, 9), st.integers(2, 12), rngs, st.booleans())
@settings(max_examples=30)
def test_play_agrees_with_the_rules_model(rows: int, columns: int, rng: random.Random, greedy: bool) -> None:
    match = load_game("breakthrough", rows=rows, columns=columns).new(0)
    rules = match.game.rules(0)
    assert f"{rows} rows and {columns} columns" in rules
    deep = 2 if "b fills the two rows at the top, w the two rows at the bottom" in rules else 1
    assert ("b fills the row at the top, w the row at the bottom" in rules) is (deep == 1)
    board = dict.fromkeys(squares(columns, rows), ".")
    for square in board:
        row = int(square[1:])
        board[square] = "b" if row > rows - deep else "w" if row <= deep else "."
    for seat in (0, 1):
        goal = (1, rows)[seat]
        assert f"{('down', 'up')[seat]} the board, and must reach row {goal}.\n" in match.game.rules(seat)
        assert f"you are {'bw'[seat]}, move {('down', 'up')[seat]} and win on row {goal}\n" in match.game.rules(
            seat, "compact"
        )
        example = re.search(r"captures: ([a-z]\d[a-z]\d)\.", match.game.rules(seat))
        assert example is not None
        if seat == 0:
            assert example[1] in (match.legal_moves(0) or [])
    seat = 0
    while True:
        check_board(match, board)
        mine, theirs, forward = "bw"[seat], "bw"[1 - seat], (-1, 1)[seat]
        legal = [
            square + at
            for square, right in itertools.product(board, (-1, 0, 1))
            if board[square] == mine
            and (there := board.get(at := move_by(square, right, forward))) is not None
            and (there == "." or (there == theirs and right))
        ]
        assert match.to_move() == (seat,)
        assert sorted(match.legal_moves(seat) or []) == sorted(legal)
        takes = [move for move in legal if board[move[2:]] == theirs]
        move = rng.choice(takes if greedy and takes else legal)
        match.apply({seat: move})
        board |= {move[:2]: ".", move[2:]: mine}
        if int(move[3:]) == (1, rows)[seat] or theirs not in board.values():
            break
        seat = 1 - seat
    check_board(match, board)
    assert match.to_move() == ()
    assert match.returns()[seat] == 1.0
    assert match.returns()[1 - seat] == -1.0


def test_view_includes_the_seat_to_move() -> None:
    game = load_game("breakthrough(rows=4,columns=2)")
    lines = ("a4a3 b1b2 a3a2 b2a3 b4a3 a1b2", "b4b3 b1b2 a4a3 a1a2 b3a2")
    even, odd = (game.load([Event(i % 2, move) for i, move in enumerate(line.split())]) for line in lines)
    assert (even.to_move(), odd.to_move()) == ((0,), (1,))
    assert draw_board(even, 0) == draw_board(odd, 0)
    for seat in (0, 1):
        assert even.view(seat) != odd.view(seat)


def test_tensor_shows_the_seats_own_side() -> None:
    match = load_game("breakthrough(rows=5,columns=4)").new(0)
    match.apply({0: "b5b4"})
    for seat in (0, 1):
        tensor = match.tensor(seat)
        assert tensor.shape == match.game.tensor_shape == (4, 5, 4)
        for square, piece in draw_board(match, seat).items():
            row, column = 5 - int(square[1]), "abcd".index(square[0])
            assert list(tensor[:, row, column]) == [piece == "b", piece == "w", piece == ".", seat]


@pytest.mark.parametrize("winner", [0, 1])
def test_player_without_pieces_loses(winner: int) -> None:
    lines = ("b5b4 b1a2 a5a4 a2a3 b4a3 a1b2 a3b2", "b5a4 b1a2 a4b3 a2b3 a5a4 b3a4")
    events = [Event(i % 2, move) for i, move in enumerate(lines[winner].split())]
    match = load_game("breakthrough(rows=5,columns=2)").load(events)
    assert match.to_move() == ()
    assert match.returns()[winner] == 1.0
    assert set(draw_board(match, 0).values()) == {".", "bw"[winner]}
    reached = {square[1:] for square, piece in draw_board(match, 1).items() if piece == "bw"[winner]}
    assert ("1", "5")[winner] not in reached


@pytest.mark.parametrize("game", examples("breakthrough", *CORNERS), ids=lambda game: game.name)
def test_moves_positions_and_returns_match_the_engine(game: OpenSpielGame) -> None:
    check_engine(game)


def test_parameter_ranges_are_enforced() -> None:
    check_ranges("breakthrough", {"rows": (3, 9), "columns": (2, 12)})


def test_prompts_tell_each_seat_its_side() -> None:
    check_seats("breakthrough", "bw")


def test_each_style_shows_exactly_what_the_seat_knows() -> None:
    check_leaks_of_example("breakthrough")


def test_distinguishes_illegal_from_unparsable_replies() -> None:
    check_refused("breakthrough", ["a2a3", "a8a7", "a7a5"], ["a7a6*", "a9a8", "i7i6", "a7"])


def test_forks_continue_independently() -> None:
    check_forks("breakthrough")
