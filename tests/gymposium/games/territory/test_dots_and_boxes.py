"""Dots and boxes against an independent model written from the rules text alone: positions, moves, results."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from gymposium import load_game
from gymposium.errors import BadParameter, IllegalMove
from gymposium.games.openspiel.adapter import OpenSpielMatch
from gymposium.games.protocol import Event, Match
from gymposium.replies.reading import READERS, read_reply

from ..matches import plain_examples

Dot = tuple[int, int]
"""Column and row, counted from 0 at the top left."""
COLUMNS = "abcdefghij"


def line(one: Dot, other: Dot) -> str:
    (left, up), (right, down) = sorted([one, other])
    return f"{COLUMNS[left]}{up + 1}{COLUMNS[right]}{down + 1}"


class RulesModel:
    """Model of a match, by the rules in the prompt."""

    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        dots = [(column, row) for column in range(columns + 1) for row in range(rows + 1)]
        beside = [((c, r), to) for c, r in dots for to in ((c + 1, r), (c, r + 1)) if to in dots]
        self.free = {line(*pair) for pair in beside}
        self.owners: dict[Dot, str] = {}
        """Whose each box is, by the dot at its upper left."""

    def sides(self, box: Dot) -> set[str]:
        (c, r), (x, y) = box, (box[0] + 1, box[1] + 1)
        return {line((c, r), (x, r)), line((c, y), (x, y)), line((c, r), (c, y)), line((x, r), (x, y))}

    def draw(self, move: str, mark: str) -> int:
        """Return the number of boxes that the line completes."""
        self.free.remove(move)
        boxes = [(c, r) for c in range(self.columns) for r in range(self.rows)]
        closed = [box for box in boxes if move in self.sides(box) and not self.sides(box) & self.free]
        self.owners.update(dict.fromkeys(closed, mark))
        return len(closed)

    def drawing(self, wide: int) -> str:
        """Draw the board, with `wide` characters for each horizontal line."""
        width, lines = len(str(self.rows + 1)), []
        for row in range(self.rows + 1):
            edges = [line((c, row), (c + 1, row)) in self.free for c in range(self.columns)]
            lines.append(f"{row + 1:{width}} +" + "+".join((" " if free else "-") * wide for free in edges) + "+")
            if row == self.rows:
                break
            drawn = " " * (width + 1)
            for c in range(self.columns + 1):
                drawn += " " if line((c, row), (c, row + 1)) in self.free else "|"
                drawn += self.owners.get((c, row), " ").center(wide) if c < self.columns else ""
            lines.append(drawn)
        return "\n".join(lines)

    def columns_line(self, wide: int) -> str:
        return " " * (len(str(self.rows + 1)) + 1) + (" " * wide).join(COLUMNS[: self.columns + 1])

    def count(self, mark: str) -> int:
        return list(self.owners.values()).count(mark)


def check(match: Match, account: RulesModel, seat: int | None) -> None:
    boxes = f"Boxes: x {account.count('x')}, o {account.count('o')}."
    for who, mark in enumerate("xo"):
        turn = ", to move" if who == seat else ""
        legal = match.legal_moves(who) or []
        assert sorted(legal) == (sorted(account.free) if who == seat else [])
        assert match.observe(who).text == (
            f"You are {mark}{turn}. {boxes} The board:\n{account.columns_line(3)}\n{account.drawing(3)}\n"
        )
        assert match.observe(who, "compact").text == (
            f"{account.drawing(1)}\n{account.columns_line(1)}\nlegal {' '.join(legal) or 'none'}\n"
        )


@given(st.integers(1, 9), st.integers(1, 9), st.booleans(), st.randoms(use_true_random=False))
@settings(max_examples=15)
def test_play_agrees_with_the_rules_model(rows: int, columns: int, margin: bool, rng: random.Random) -> None:
    match = load_game("dots_and_boxes", num_rows=rows, num_cols=columns, utility_margin=margin).new(0)
    account, seat, turns = RulesModel(rows, columns), 0, 0
    for who in (0, 1):
        rules = match.game.rules(who)
        assert f"{rows} rows and {columns} columns of boxes" in rules
        assert f"all {len(account.free)} lines" in rules
        assert f"(a to {COLUMNS[columns]}, from the left) and its row (1 to {rows + 1}, from the top)" in rules
        assert rules.endswith(f"You play {'xo'[who]} and move {('first', 'second')[who]}.\n")
        assert ("Your result is the number of your boxes less" in rules) is margin
        assert ("Whoever has more boxes then wins" in rules) is not margin
        compact = match.game.rules(who, "compact")
        assert f"you are {'xo'[who]}" in compact
        assert ("your result is" in compact) is margin
    while account.free:
        assert match.to_move() == (seat,)
        if turns % 5 == 0:
            check(match, account, seat)
        move = rng.choice(sorted(account.free))
        match.apply({seat: move})
        if not account.draw(move, "xo"[seat]):
            seat = 1 - seat
        turns += 1
    check(match, account, None)
    assert match.to_move() == ()
    ahead = account.count("x") - account.count("o")
    result = ahead if margin else (ahead > 0) - (ahead < 0)
    assert match.returns() == (result, -result)
    assert turns == match.game.max_decisions
    low, high = match.game.utility_range
    assert (low, high) == ((-rows * columns, rows * columns) if margin else (-1, 1))


def test_line_completing_two_boxes_gives_one_extra_turn() -> None:
    match = load_game("dots_and_boxes(num_rows=1,num_cols=2)").new(0)
    for seat, move in enumerate("a1b1 b1c1 a2b2 b2c2 a1a2 c1c2".split()):
        match.apply({seat % 2: move})
    match.apply({0: "b1b2"})
    assert match.observe(1).text.startswith("You are o. Boxes: x 2, o 0.")
    assert match.returns() == (1.0, -1.0)


def test_view_includes_the_seat_to_move() -> None:
    game = load_game("dots_and_boxes(num_rows=1,num_cols=2)")
    lines = ("b1c1 b2c2 c1c2 b1b2 a1b1 a1a2 a2b2", "b1c1 a1b1 b2c2 b1b2 a1a2 a2b2 c1c2")
    matches = []
    for moves in lines:
        match = game.new(0)
        for move in moves.split()[:-2]:
            [seat] = match.to_move()
            match.apply({seat: move})
        matches.append(match)
    assert len({match.view(0) for match in matches}) == 2


@pytest.mark.parametrize("rows", [1, 3])
def test_tensor_shows_the_board_and_the_own_side(rows: int) -> None:
    match = load_game("dots_and_boxes", num_rows=rows, num_cols=2).new(0)
    account, rng = RulesModel(rows, 2), random.Random(3)
    while match.to_move():
        [seat] = match.to_move()
        for who in (0, 1):
            tensor = match.tensor(who)
            assert tensor.shape == match.game.tensor_shape == (5, rows + 1, 3)
            for c, r in np.ndindex(3, rows + 1):
                right, down = line((c, r), (c + 1, r)), line((c, r), (c, r + 1))
                expected = (
                    c < 2 and right not in account.free,
                    r < rows and down not in account.free,
                    account.owners.get((c, r)) == "x",
                    account.owners.get((c, r)) == "o",
                    who,
                )
                assert tuple(tensor[:, r, c]) == expected
        move = rng.choice(match.legal_moves(seat) or [])
        match.apply({seat: move})
        account.draw(move, "xo"[seat])


def test_moves_match_the_engine() -> None:
    """The engine names lines by direction, row and column."""
    for example in plain_examples("dots_and_boxes"):
        match = load_game("dots_and_boxes", **example).new(0)
        assert isinstance(match, OpenSpielMatch)
        for action, move in zip(match.legal_actions(0), match.legal_moves(0), strict=True):
            way, row, column = re.findall(r"[hv]|\d+", match.state.action_to_string(0, action))[1:]
            one = (int(column), int(row))
            other = (one[0] + 1, one[1]) if way == "h" else (one[0], one[1] + 1)
            assert move == line(one, other)


def test_distinguishes_illegal_from_unparsable_replies() -> None:
    match = load_game("dots_and_boxes").load([Event(0, "a1b1")])
    legal = match.legal_moves(1)
    for kind, replies in {
        "illegal": ["a1b1", "b1a1", "a2a1", "a1b2", "a1c1", "a1a1"],
        "unparsable": ["a1", "a4a5", "d1e1", "A1B1", "a1-b1", "a1 b1", "h 0 0", "a0a1"],
        "move": ["b1c1", "d3d4", "a1a2"],
    }.items():
        for reply in replies:
            assert read_reply(reply, legal, READERS["move"], match.game.move_pattern).kind == kind, reply
            if kind != "move":
                with pytest.raises(IllegalMove):
                    match.apply({1: reply})


@pytest.mark.parametrize("wrong", [{"num_rows": 0}, {"num_cols": 10}, {"utility_margin": 1}])
def test_unsupported_parameters_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(BadParameter):
        load_game("dots_and_boxes", **wrong)
