"""Phantom tic-tac-toe: prompts, legal moves and results agree with the rules and the engine."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings, strategies as st

from gymposium import load_game
from gymposium.games.protocol import Event, Match

from ..matches import check_readings, list_moves, parse_lines, seeds
from ..worlds import check_hint_is_found, check_nothing_leaks

LINES = [[f"{c}{r}" for c in "abc"] for r in "123"] + [[f"{c}{r}" for r in "123"] for c in "abc"]
LINES += [["a1", "b2", "c3"], ["a3", "b2", "c1"]]
SQUARES = [f"{c}{r}" for r in "321" for c in "abc"]


@given(st.sampled_from(["reveal-nothing", "reveal-numturns"]), st.sampled_from(["classical", "abrupt"]), seeds)
@settings(max_examples=60)
def test_prompt_shows_what_the_seat_has_discovered(obstype: str, version: str, seed: int) -> None:
    match = load_game("phantom_ttt", obstype=obstype, gameversion=version).new(0)
    board: dict[str, int] = {}
    known: list[dict[str, int]] = [{}, {}]
    turns: list[tuple[int, str, bool]] = []
    rng, mover = random.Random(seed), 0
    while match.to_move():
        assert match.to_move() == (mover,)
        for seat in (0, 1):
            check_phantom(match, seat, known[seat], turns, obstype)
        assert list_moves(match, mover) == [square for square in SQUARES if square not in known[mover]]
        square = rng.choice(match.legal_moves(mover) or [])
        match.apply({mover: square})
        free = square not in board
        owner = board.setdefault(square, mover)
        known[mover][square] = owner
        turns.append((mover, square, free))
        if free or version == "abrupt":
            mover = 1 - mover
    winner = next((s for s in (0, 1) for line in LINES if all(board.get(q) == s for q in line)), None)
    assert winner is not None or len(board) == 9
    assert match.returns() == {0: (1.0, -1.0), 1: (-1.0, 1.0), None: (0.0, 0.0)}[winner]
    for seat in (0, 1):
        check_phantom(match, seat, known[seat], turns, obstype)
        end = "it is a draw" if winner is None else "you win" if winner == seat else "you lose"
        assert match.observe(seat).text.endswith(f"The match is over: {end}.\n")


def check_phantom(
    match: Match, seat: int, known: dict[str, int], turns: list[tuple[int, str, bool]], obstype: str
) -> None:
    cells = ["." if square not in known else "xo"[known[square]] for square in SQUARES]
    compact = match.observe(seat, "compact").text
    full = match.observe(seat).text
    assert [cell for line in compact.splitlines()[:3] for cell in line.split()] == cells
    assert [cell for line in full.splitlines()[1:4] for cell in line.split()[1:]] == cells
    assert [line[0] for line in full.splitlines()[1:4]] == ["3", "2", "1"]
    assert full.startswith(f"You are {'xo'[seat]}{', to move' if seat in match.to_move() else ''}. ")
    tried = [
        (square + ("" if free else "!")) if who == seat else "?"
        for who, square, free in turns
        if who == seat or obstype == "reveal-numturns"
    ]
    assert parse_lines(compact)["tried"] == (" ".join(tried) or "none")
    past = full.partition("so far: ")[2].partition(".\n")[0].replace("your opponent ?", "?").replace("you ", "")
    assert past.replace(" (taken)", "!") == (", ".join(tried) or "none")


def test_rules_explain_a_taken_square() -> None:
    for version, words in [("classical", "you try another one"), ("abrupt", "your turn is over")]:
        game = load_game("phantom_ttt", gameversion=version)
        assert words in game.rules(0)
        match = game.load([Event(0, "b2"), Event(1, "b2")])
        assert match.to_move() == ((1,) if version == "classical" else (0,))
        assert ("not told how often" in game.rules(0)) == (version == "classical")
        assert "told each time" in load_game(game.name, obstype="reveal-numturns").rules(1)


def test_distinguishes_illegal_from_unparsable_replies() -> None:
    check_readings("phantom_ttt", [], ["b4", "B2", "d1", "22"])


def test_nothing_leaks() -> None:
    check_nothing_leaks("phantom_ttt", 20)


@pytest.mark.slow
def test_leak_check_detects_a_hidden_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    check_hint_is_found("phantom_ttt", 20, lambda state, seat: len(state.history()), monkeypatch)
