"""Y against an independent model written from the rules text alone: positions, legal moves, results."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings, strategies as st

from gymposium import load_game
from gymposium.errors import BadParameter, IllegalMove
from gymposium.games.openspiel.adapter import OpenSpielMatch
from gymposium.games.protocol import Event, Match
from gymposium.replies.reading import READERS, read_reply

from ..matches import own_parameters

LETTERS = "abcdefghijklmnopqrs"
Board = dict[str, str]


def make_rows(size: int) -> list[list[str]]:
    """Return the rows of cells. Row 1 is as long as the board, and each row is one cell shorter than the one above."""
    return [[f"{LETTERS[i]}{row}" for i in range(size + 1 - row)] for row in range(1, size + 1)]


def list_neighbors(cell: str) -> set[str]:
    """Return the neighbors: beside it, above with its own letter and the one after, below with its own letter and the
    one before."""
    column, row = LETTERS.index(cell[0]), int(cell[1:])
    places = [(-1, 0), (1, 0), (0, -1), (1, -1), (0, 1), (-1, 1)]
    return {f"{LETTERS[column + right]}{row + down}" for right, down in places if 0 <= column + right < len(LETTERS)}


def joins_all_sides(board: Board, size: int, last: str) -> bool:
    mine = {cell for cell in board if board[cell] == board[last]}
    chain, edge = {last}, [last]
    while edge:
        new = (list_neighbors(edge.pop()) & mine) - chain
        chain |= new
        edge += new
    rows = make_rows(size)
    sides = [set(rows[0]), {row[0] for row in rows}, {row[-1] for row in rows}]
    return all(chain & side for side in sides)


def check(match: Match, board: Board, size: int) -> None:
    rows = make_rows(size)
    width = len(str(size)) + 1
    for seat, mark in enumerate("xo"):
        turn = ", to move" if match.to_move() == (seat,) else ""
        drawn = [
            f"{' ' * shift}{row[0].rjust(width)} {' '.join(board[cell] for cell in row)} {row[-1]}\n"
            for shift, row in enumerate(rows)
        ]
        assert match.observe(seat).text == f"You are {mark}{turn}. The board:\n{''.join(drawn)}"
        short = [f"{row[0].ljust(width)} {''.join(board[cell] for cell in row)}\n" for row in rows]
        legal = " ".join(match.legal_moves(seat) or ()) or "none"
        assert match.observe(seat, "compact").text == f"{''.join(short)}legal {legal}\n"


@given(st.integers(3, 19), st.integers(0, 999))
@settings(max_examples=20)
def test_play_agrees_with_the_rules_model(size: int, seed: int) -> None:
    rng, match = random.Random(seed), load_game("y", board_size=size).new(0)
    board = {cell: "." for row in make_rows(size) for cell in row}
    for turn in range(len(board)):
        seat = turn % 2
        assert match.to_move() == (seat,)
        free = [cell for cell in board if board[cell] == "."]
        if turn % 9 == 0:
            check(match, board, size)
            assert match.legal_moves(seat) == free
        move = rng.choice(free)
        match.apply({seat: move})
        board[move] = "xo"[seat]
        if joins_all_sides(board, size, move):
            check(match, board, size)
            assert match.to_move() == ()
            assert match.returns() == ((1.0, -1.0) if seat == 0 else (-1.0, 1.0))
            return
    pytest.fail("a full board, and nobody has won")


def test_corner_belongs_to_both_sides() -> None:
    events = [Event(i % 2, move) for i, move in enumerate("a1 b2 b1 b3 c1 c2 d1 a3 e1".split())]
    match = load_game("y", board_size=5).load(events)
    assert match.to_move() == ()
    assert match.returns() == (1.0, -1.0)


@pytest.mark.parametrize("size", [3, 5, 10, 19])
@pytest.mark.parametrize("seat", [0, 1])
def test_rules_mention_the_parameters(size: int, seat: int) -> None:
    game = load_game("y", board_size=size)
    rules, short = game.rules(seat), game.rules(seat, "compact")
    right, low = make_rows(size)[0][-1], make_rows(size)[-1][0]
    assert f"a triangle, {size} cells a side" in rules
    assert f"the top (row 1, from a1 to {right}), the left (column a, from a1 to {low})" in rules
    assert f"the right (the last cell of each row, from {right} to {low})" in rules
    assert "So b2 touches a2 and c2, b1 and c1, a3 and b3.\n" in rules
    assert "b2 touches b1 c1 a2 c2 a3 b3" in short
    assert list_neighbors("b2") == set("b1 c1 a2 c2 a3 b3".split())
    assert "x moves first" in rules
    assert rules.endswith(f"You play {'xo'[seat]} and move {('first', 'second')[seat]}.\n")
    assert short.endswith(f"you are {'xo'[seat]}\n")


def test_cell_names_match_the_engine() -> None:
    match = load_game("y").new(0)
    assert isinstance(match, OpenSpielMatch)
    names = [match.state.action_to_string(0, action) for action in match.legal_actions(0)]
    assert match.legal_moves(0) == names == [cell for row in make_rows(19) for cell in row]


def test_parameter_ranges_are_enforced() -> None:
    assert {p.name: (p.low, p.high) for p in own_parameters("y")} == {"board_size": (3, 19)}
    for size in (2, 20):
        with pytest.raises(BadParameter, match=f"board_size={size}"):
            load_game("y", board_size=size)


def test_distinguishes_illegal_from_unparsable_replies() -> None:
    match = load_game("y", board_size=12).load([Event(0, "b2")])
    unparsable = ["m1", "l2", "b12", "a13", "a0", "B2", "2b", "b02", "unknown"]
    for kind, replies in (("illegal", ["b2"]), ("unparsable", unparsable)):
        for reply in replies:
            assert read_reply(reply, match.legal_moves(1), READERS["move"], match.game.move_pattern).kind == kind, reply
            with pytest.raises(IllegalMove):
                match.apply({1: reply})
