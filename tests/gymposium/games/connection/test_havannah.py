"""Havannah against an independent model written from the rules text alone: positions, legal moves, results."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable

import pytest
from hypothesis import given, settings, strategies as st

from gymposium import load_game
from gymposium.errors import BadParameter, IllegalMove
from gymposium.games.openspiel.adapter import OpenSpielMatch
from gymposium.games.protocol import Event, Match
from gymposium.replies.reading import READERS, read_reply

from ..matches import own_parameters

LETTERS = "abcdefghijklmnopqrs"
Cells = set[str]


def make_rows(size: int) -> list[list[str]]:
    """Return the cells of a hexagon of hexagons row by row, named by the rules."""
    last = 2 * size - 1
    spans = [(max(0, row - size), min(last, size + row - 1)) for row in range(1, last + 1)]
    return [[f"{LETTERS[i]}{row}" for i in range(*span)] for row, span in enumerate(spans, start=1)]


def list_neighbors(cell: str) -> Cells:
    """Return the neighbors: beside it, above with its own letter and the one before, below with its own letter and the
    one after."""
    column, row = LETTERS.index(cell[0]), int(cell[1:])
    places = [(-1, 0), (1, 0), (0, -1), (-1, -1), (0, 1), (1, 1)]
    return {f"{LETTERS[column + right]}{row + down}" for right, down in places if 0 <= column + right < len(LETTERS)}


def reached(start: Iterable[str], allowed: Cells) -> Cells:
    """Return the cells that a chain of allowed cells joins to these."""
    seen = set(start) & allowed
    edge = list(seen)
    while edge:
        new = (list_neighbors(edge.pop()) & allowed) - seen
        seen |= new
        edge += new
    return seen


class RulesModel:
    """Model of the board, and of what wins on it."""

    def __init__(self, size: int) -> None:
        self.rows = make_rows(size)
        self.cells = {cell for row in self.rows for cell in row}
        top, middle, bottom = self.rows[0], self.rows[size - 1], self.rows[-1]
        self.corners = {row[end] for row in (top, middle, bottom) for end in (0, -1)}
        left, right = [row[0] for row in self.rows], [row[-1] for row in self.rows]
        sides = [top, bottom, left[:size], left[size - 1 :], right[:size], right[size - 1 :]]
        self.sides = [set(side) - self.corners for side in sides]
        self.border = {cell for cell in self.cells if len(list_neighbors(cell) & self.cells) < 6}
        self.board = dict.fromkeys(self.cells, ".")

    def wins(self, mark: str, last: str) -> str:
        """Return what the last stone has formed."""
        mine = {cell for cell in self.cells if self.board[cell] == mark}
        chain = reached([last], mine)
        if len(chain & self.corners) >= 2:
            return "bridge"
        if sum(bool(chain & side) for side in self.sides) >= 3:
            return "fork"
        outside = reached(self.border, self.cells - mine)
        enclosed = self.cells - mine - outside
        filled = {cell for cell in mine - self.border if list_neighbors(cell) <= mine}
        return "ring" if enclosed or filled else ""


def full(account: RulesModel) -> str:
    """Draw each row between the names of its first and last cell, with each cell centered above the gap between two
    others."""
    longest = max(len(row) for row in account.rows)
    width = max(len(row[0]) for row in account.rows)
    lines = [
        f"{' ' * (longest - len(row))}{row[0].rjust(width)} {' '.join(account.board[cell] for cell in row)} {row[-1]}\n"
        for row in account.rows
    ]
    return "".join(lines)


def compact(account: RulesModel) -> str:
    width = max(len(row[0]) for row in account.rows)
    return "".join(f"{row[0].ljust(width)} {''.join(account.board[c] for c in row)}\n" for row in account.rows)


def check(match: Match, account: RulesModel, offered: str = "") -> None:
    for seat, mark in enumerate("xo"):
        mover = match.to_move() == (seat,)
        offer = f" You may also play {offered}, which makes the stone there yours." if offered and mover else ""
        head = f"You are {mark}{', to move' if mover else ''}.{offer} The board:\n"
        assert match.observe(seat).text == head + full(account)
        legal = " ".join(match.legal_moves(seat) or ()) or "none"
        assert match.observe(seat, "compact").text == f"{compact(account)}legal {legal}\n"


def play_by_rules(size: int, swap: bool, rng: random.Random, swaps: bool) -> str:
    match, account = load_game("havannah", board_size=size, swap=swap).new(0), RulesModel(size)
    seat, turn = 0, 0
    while True:
        free = {cell for cell in account.cells if account.board[cell] == "."}
        offered = next(iter(account.cells - free)) if swap and turn == 1 else ""
        assert match.to_move() == ((seat,) if free else ())
        if turn < 3 or turn % 9 == 0 or not free:
            check(match, account, offered)
            assert set(match.legal_moves(seat) or []) == free | ({offered} if offered else set())
        if not free:
            assert match.returns() == (0.0, 0.0)
            return "draw"
        move = offered if offered and swaps else rng.choice(sorted(free))
        match.apply({seat: move})
        account.board[move] = "xo"[seat]
        if how := account.wins("xo"[seat], move):
            assert match.to_move() == ()
            assert match.returns() == ((1.0, -1.0) if seat == 0 else (-1.0, 1.0))
            check(match, account)
            return how
        seat, turn = 1 - seat, turn + 1


@given(st.integers(3, 10), st.booleans(), st.booleans(), st.integers(0, 999))
@settings(max_examples=15)
def test_play_agrees_with_the_rules_model(size: int, swap: bool, swaps: bool, seed: int) -> None:
    play_by_rules(size, swap, random.Random(seed), swaps)


def test_random_play_reaches_every_winning_structure() -> None:
    assert {play_by_rules(5, False, random.Random(seed), False) for seed in range(30)} == {"ring", "bridge", "fork"}


def played(moves: str, **params: int) -> Match:
    events = [Event(i % 2, move) for i, move in enumerate(moves.split())]
    return load_game("havannah", **params).load(events)


DRAWN = "e4 b3 e3 d4 c4 c5 a1 a3 c2 e5 c1 b1 a2 b2 d5 d3 c3 d2 b4"


def test_full_board_without_a_winner_is_a_draw() -> None:
    match = played(DRAWN, board_size=3)
    assert match.to_move() == ()
    assert match.returns() == (0.0, 0.0)
    assert "." not in "".join(match.observe(0).text.splitlines()[1:])


def test_swap_adds_a_decision_to_a_full_board() -> None:
    match = played(f"e4 {DRAWN}", board_size=3, swap=True)
    assert len(match.events) == match.game.max_decisions == 20
    assert match.returns() == (0.0, 0.0)


@pytest.mark.parametrize("middle", ["", "d4 a1 ", "d1 d4 "], ids=["empty", "own stone", "opponent's stone"])
def test_ring_may_enclose_any_cell(middle: str) -> None:
    match = played(f"{middle}c3 a2 d3 b1 e4 e2 e5 a3 d5 c6 c4", board_size=4)
    assert match.to_move() == ()
    assert match.returns() == (1.0, -1.0)


def test_triangle_is_no_ring_and_corner_is_no_side() -> None:
    assert played("c3 a2 d3 b1 d4", board_size=4).to_move() == (1,)
    # a chain along the top from corner a1 touches the top side alone; with a2 it touches two
    assert played("a1 d5 b1 d6 c1 e6 a2 e5", board_size=4).to_move() == (0,)


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("size", [3, 8, 10])
@pytest.mark.parametrize("seat", [0, 1])
def test_rules_mention_the_parameters(size: int, swap: bool, seat: int) -> None:
    rules = load_game("havannah", board_size=size, swap=swap).rules(seat)
    short = load_game("havannah", board_size=size, swap=swap).rules(seat, "compact")
    assert f"itself a hexagon, {size} cells a side" in rules
    assert ("o may on its first turn play the cell" in rules) is swap
    assert ("o's first move may be the cell" in short) is swap
    corners = re.search(r"corner cells, which are (.*);", rules)
    assert corners is not None
    assert set(re.findall(r"[a-z]\d+", corners[1])) == RulesModel(size).corners
    assert f"from 1 at the top to {2 * size - 1} at the bottom" in rules
    assert "So b2 touches a2 and c2, a1 and b1, b3 and c3.\n" in rules
    assert "b2 touches a1 b1 a2 c2 b3 c3" in short
    assert list_neighbors("b2") == set("a1 b1 a2 c2 b3 c3".split()) <= RulesModel(size).cells
    assert "x moves first" in rules
    assert rules.endswith(f"You play {'xo'[seat]} and move {('first', 'second')[seat]}.\n")
    assert short.endswith(f"you are {'xo'[seat]}\n")


def test_cell_names_match_the_engine() -> None:
    match = load_game("havannah").new(0)
    assert isinstance(match, OpenSpielMatch)
    names = [match.state.action_to_string(0, action) for action in match.legal_actions(0)]
    assert match.legal_moves(0) == names == [cell for row in make_rows(8) for cell in row]


def test_parameter_ranges_are_enforced() -> None:
    assert {p.name: (p.low, p.high) for p in own_parameters("havannah")} == {
        "board_size": (3, 10),
        "swap": (None, None),
    }
    for size in (2, 11):
        with pytest.raises(BadParameter, match=f"board_size={size}"):
            load_game("havannah", board_size=size)


def test_distinguishes_illegal_from_unparsable_replies() -> None:
    match = load_game("havannah", board_size=4).load([Event(0, "e5")])
    unparsable = ["e1", "a5", "g3", "h4", "E4", "e8", "e0", "5e", "e05", "unknown", "unknown 4", "swap"]
    for kind, replies in (("illegal", ["e5"]), ("unparsable", unparsable)):
        for reply in replies:
            assert read_reply(reply, match.legal_moves(1), READERS["move"], match.game.move_pattern).kind == kind, reply
            with pytest.raises(IllegalMove):
                match.apply({1: reply})
