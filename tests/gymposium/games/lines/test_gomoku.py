"""Gomoku against an independent model written from the rules text alone: positions, legal moves, results."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given, settings, strategies as st

from gymposium import load_game
from gymposium.errors import BadParameter, IllegalMove
from gymposium.games.openspiel.adapter import OpenSpielMatch
from gymposium.games.protocol import Event, Match
from gymposium.replies.reading import READERS, read_reply

from ..matches import own_parameters, plain_examples

COLUMNS = "abcdefghijklmnopqrs"
Board = dict[tuple[int, int], str]
"""What stands on each point: column and row, counted from 0 at the bottom left."""


def name_point(column: int, row: int) -> str:
    return f"{COLUMNS[column]}{row + 1}"


def drawing(board: Board, size: int, *, spaced: bool) -> str:
    """Draw the rows from the top, with row 1 at the bottom, with labels."""
    gap, width = " " if spaced else "", len(str(size))
    rows = [
        str(row + 1).rjust(width) + gap + gap.join(board[column, row] for column in range(size))
        for row in reversed(range(size))
    ]
    return "\n".join([*rows, " " * width + gap + gap.join(COLUMNS[:size])]) + "\n"


def longest(board: Board, point: tuple[int, int], size: int, *, wrap: bool) -> int:
    """Return the length of the longest unbroken line of one player's stones through a point."""
    best = 0
    for step in ((1, 0), (0, 1), (1, 1), (1, -1)):
        line = {point}
        for way in (1, -1):
            at = point
            while True:
                at = (at[0] + way * step[0], at[1] + way * step[1])
                at = (at[0] % size, at[1] % size) if wrap else at
                if at in line or board.get(at) != board[point]:
                    break
                line.add(at)
        best = max(best, len(line))
    return best


def play_by_rules(match: Match, rng: random.Random) -> tuple[float, float]:
    """Play at random beside the model, and return the result by the rules."""
    size, connect, anti, wrap = (match.game.params[name] for name in ("size", "connect", "anti", "wrap"))
    board: Board = dict.fromkeys(itertools.product(range(size), repeat=2), ".")
    for turn in range(size * size):
        seat, mark = turn % 2, "bw"[turn % 2]
        assert match.to_move() == (seat,)
        free = [point for point in board if board[point] == "."]
        if turn % 5 == 0:
            check(match, board, size)
            assert sorted(match.legal_moves(seat) or []) == sorted(name_point(*point) for point in free)
        point = rng.choice(free)
        match.apply({seat: name_point(*point)})
        board[point] = mark
        if longest(board, point, size, wrap=wrap) >= connect:
            check(match, board, size)
            return (-1.0, 1.0) if (seat == 0) is anti else (1.0, -1.0)
    check(match, board, size)
    return (0.0, 0.0)


def check(match: Match, board: Board, size: int) -> None:
    for seat, mark in enumerate("bw"):
        turn = ", to move" if match.to_move() == (seat,) else ""
        head = f"You are {mark}{turn}. The board:\n"
        assert match.observe(seat).text == head + drawing(board, size, spaced=True)
        legal = " ".join(match.legal_moves(seat) or ()) or "none"
        assert match.observe(seat, "compact").text == f"{drawing(board, size, spaced=False)}legal {legal}\n"


@st.composite
def parameters(draw: st.DrawFn) -> dict[str, int | bool]:
    size = draw(st.integers(5, 19))
    connect = draw(st.integers(3, min(7, size)))
    return {"size": size, "connect": connect, "anti": draw(st.booleans()), "wrap": draw(st.booleans())}


@given(parameters(), st.integers(0, 999))
@settings(max_examples=40)
def test_play_agrees_with_the_rules_model(params: dict[str, int | bool], seed: int) -> None:
    match = load_game("gomoku", **params).new(0)
    result = play_by_rules(match, random.Random(seed))
    assert match.to_move() == ()
    assert match.returns() == result


@pytest.mark.parametrize("wrap", [False, True])
@pytest.mark.parametrize("anti", [False, True])
def test_full_board_is_a_draw(anti: bool, wrap: bool) -> None:
    ends = set()
    for seed in range(30):
        match = load_game("gomoku", size=5, anti=anti, wrap=wrap).new(0)
        ends.add(play_by_rules(match, random.Random(seed)))
        assert [str(value) for value in match.returns()].count("-0.0") == 0
    assert ends == {(1.0, -1.0), (-1.0, 1.0), (0.0, 0.0)}


@pytest.mark.parametrize("params", plain_examples("gomoku"))
@pytest.mark.parametrize("seat", [0, 1])
def test_rules_mention_the_parameters(params: dict[str, int | bool], seat: int) -> None:
    game = load_game("gomoku", **params)
    size, connect, anti, wrap = (game.params[name] for name in ("size", "connect", "anti", "wrap"))
    rules, short = game.rules(seat), game.rules(seat, "compact")
    assert f"a board of {size} rows and {size} columns" in rules
    assert f"gets {connect} or more of their own stones in an unbroken line (across, down or diagonally) " in rules
    assert f"{connect} or more in a line {'lose' if anti else 'win'}" in short
    assert (" loses. " in rules) is anti
    assert (" wins. " in rules) is not anti
    assert ("The board has no edges" in rules) is ("go on over the edges" in short) is wrap
    assert f"a1 is bottom left, {name_point(size - 1, size - 1)} top right" in rules
    assert "b moves first" in rules
    assert rules.endswith(f"You play {'bw'[seat]} and move {('first', 'second')[seat]}.\n")
    assert short.endswith(f"you are {'bw'[seat]}\n")


def play_line(moves: str, **params: bool) -> tuple[float, ...]:
    """Return the result of a match that ends with the last of these moves, and not before."""
    events = [Event(i % 2, move) for i, move in enumerate(moves.split())]
    game = load_game("gomoku", **params)
    assert game.load(events[:-1]).to_move() != ()
    match = game.load(events)
    assert match.to_move() == ()
    return match.returns()


def test_more_than_five_in_a_row_win() -> None:
    assert play_line("a1 a15 b1 c15 c1 e15 e1 g15 f1 i15 d1") == (1.0, -1.0)


@pytest.mark.parametrize(
    "moves",
    [
        "o1 a5 a1 c5 b1 e5 c1 g5 n1",
        "a1 b5 a15 d5 a2 f5 a14 h5 a13",
        "a1 c4 b2 e4 o15 g4 n14 i4 m13",
        "o1 c4 n2 e4 a15 g4 b14 i4 m3",
    ],
)
def test_lines_wrap_around_a_torus(moves: str) -> None:
    assert play_line(moves, wrap=True) == (1.0, -1.0)
    assert play_line(moves, wrap=True, anti=True) == (-1.0, 1.0)
    flat = load_game("gomoku").load([Event(i % 2, move) for i, move in enumerate(moves.split())])
    assert flat.to_move() == (1,)


def test_parameter_ranges_are_enforced() -> None:
    ranges = {p.name: (p.low, p.high) for p in own_parameters("gomoku")}
    assert ranges == {"size": (5, 19), "connect": (3, 7), "anti": (None, None), "wrap": (None, None)}
    for size, connect in itertools.product((5, 19), (3, 5)):
        match = load_game("gomoku", size=size, connect=connect).new(0)
        assert match.game.max_decisions == match.game.num_actions == size * size
    with pytest.raises(BadParameter, match="connect=7 does not fit on a board of size=6"):
        load_game("gomoku", size=6, connect=7)


@pytest.mark.parametrize(
    ("size", "illegal", "unparsable"),
    [(15, ["h8"], ["H8", "8h", "h16", "h0", "p1", "h08", "7,7"]), (9, ["h8"], ["a10", "j1"])],
)
def test_distinguishes_illegal_from_unparsable_replies(size: int, illegal: list[str], unparsable: list[str]) -> None:
    match = load_game("gomoku", size=size).load([Event(0, "h8")])
    legal = match.legal_moves(1)
    for kind, replies in (("illegal", illegal), ("unparsable", unparsable)):
        for reply in replies:
            assert read_reply(reply, legal, READERS["move"], match.game.move_pattern).kind == kind, reply
            with pytest.raises(IllegalMove):
                match.apply({1: reply})


def test_point_names_and_actions_match_the_engine() -> None:
    match = load_game("gomoku", size=6).new(0)
    assert isinstance(match, OpenSpielMatch)
    for action, move in zip(match.legal_actions(0), match.legal_moves(0)):
        down, right = map(int, match.state.action_to_string(0, action).split(","))
        assert move == name_point(right, 5 - down)
