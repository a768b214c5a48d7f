"""Tic-tac-toe: the drawn board agrees with the moves, square by square."""

from __future__ import annotations

import itertools

from gymposium import load_game


def test_squares_are_drawn_at_their_names() -> None:
    game = load_game("tic_tac_toe")
    for move in game.new(0).legal_moves(0) or []:
        match = game.new(0)
        match.apply({0: move})
        for text in (match.observe(1).text, match.observe(0).text):
            [row] = [line for line in text.splitlines() if line.startswith(move[1])]
            footer = text.splitlines()[-1]
            assert row[footer.index(move[0])] == "x"
            assert text.count("x") == (2 if "You are x" in text else 1)
        rows = match.observe(1, "compact").text.splitlines()
        assert rows["321".index(move[1])].split()["abc".index(move[0])] == "x"
    assert "rows 3 2 1, columns a b c, you are x" in game.rules(0, "compact")
    assert "a3 is top left, b2 the centre" in game.rules(0)


def test_three_in_a_row_win_in_all_directions() -> None:
    game = load_game("tic_tac_toe")
    lines = [[f"{c}{r}" for c in "abc"] for r in "123"] + [[f"{c}{r}" for r in "123"] for c in "abc"]
    lines += [["a1", "b2", "c3"], ["a3", "b2", "c1"]]
    for line in lines:
        others = [f"{c}{r}" for c in "abc" for r in "123" if f"{c}{r}" not in line]
        for replies in itertools.permutations(others, 2):
            match = game.new(0)
            for move in (line[0], replies[0], line[1], replies[1]):
                match.apply({match.to_move()[0]: move})
            assert match.to_move() == (0,)
            match.apply({0: line[2]})
            assert match.to_move() == ()
            assert match.returns() == (1.0, -1.0)
            assert "to move" not in match.observe(1).text
