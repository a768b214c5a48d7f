"""Clobber against an independent model written from the rules text alone, and against the engine."""

from __future__ import annotations

import itertools
import random
import re

import pytest
from hypothesis import given, settings, strategies as st

from gymposium import load_game
from gymposium.games.openspiel.adapter import OpenSpielGame

from ..boards import (
    STRAIGHT,
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

CORNERS = [f"clobber(rows={rows},columns={columns})" for rows, columns in itertools.product((2, 12), repeat=2)]


@given(st.integers(2, 12), st.integers(2, 12), rngs)
@settings(max_examples=25)
def test_play_agrees_with_the_rules_model(rows: int, columns: int, rng: random.Random) -> None:
    match = load_game("clobber", rows=rows, columns=columns).new(0)
    board = {s: "ox"[(ord(s[0]) - ord("a") + int(s[1:]) - 1) % 2] for s in squares(columns, rows)}
    assert board["a1"] == "o"
    assert f"{rows} rows and {columns} columns" in match.game.rules(1)
    seat = 0
    while True:
        check_board(match, board)
        mine, theirs = "ox"[seat], "ox"[1 - seat]
        legal = sorted(
            square + at
            for square in board
            for step in STRAIGHT
            if board[square] == mine and board.get(at := move_by(square, *step)) == theirs
        )
        if not legal:
            break
        assert match.to_move() == (seat,)
        assert sorted(match.legal_moves(seat) or []) == legal
        move = rng.choice(legal)
        match.apply({seat: move})
        start, end = re.findall(r"[a-z]\d+", move)
        board |= {start: ".", end: mine}
        seat = 1 - seat
    assert match.to_move() == ()
    assert match.returns()[seat] == -1.0, "whoever cannot move loses"
    assert match.returns()[1 - seat] == 1.0


@pytest.mark.parametrize("game", examples("clobber", *CORNERS), ids=lambda game: game.name)
def test_moves_positions_and_returns_match_the_engine(game: OpenSpielGame) -> None:
    check_engine(game)


def test_parameter_ranges_are_enforced() -> None:
    check_ranges("clobber", {"rows": (2, 12), "columns": (2, 12)})


def test_prompts_tell_each_seat_its_side() -> None:
    check_seats("clobber", "ox")


def test_each_style_shows_exactly_what_the_seat_knows() -> None:
    check_leaks_of_example("clobber")


@pytest.mark.parametrize(
    ("name", "illegal", "unparsable"),
    [
        ("clobber", ["a1a1", "a1c3", "b1a1", "a2b2"], ["a1", "a1-b1", "a6a5", "g1f1", "a0a1"]),
        ("clobber(rows=12)", ["b1a1", "a12f1"], ["a13a12", "a1a", "g1f1"]),
    ],
)
def test_distinguishes_illegal_from_unparsable_replies(name: str, illegal: list[str], unparsable: list[str]) -> None:
    check_refused(name, illegal, unparsable)


def test_forks_continue_independently() -> None:
    check_forks("clobber")
