"""Connect Four: the drawn board agrees with the moves, square by square."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import assume, given, settings, strategies as st

from gymposium import load_game
from gymposium.errors import BadParameter

from ..matches import own_parameters

boards = st.tuples(st.integers(4, 12), st.integers(4, 12), st.integers(3, 6))


def test_parameter_ranges_are_enforced() -> None:
    ranges = {p.name: (p.low, p.high) for p in own_parameters("connect_four")}
    assert ranges == {"rows": (4, 12), "columns": (4, 12), "x_in_row": (3, 6)}  # as drawn below


@given(boards, st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_play_agrees_with_the_rules_on_any_board(board: tuple[int, int, int], rng: object) -> None:
    rows, columns, x_in_row = board
    assume(x_in_row <= max(rows, columns))
    match = load_game("connect_four", rows=rows, columns=columns, x_in_row=x_in_row).new(0)
    assert f"{rows} rows and {columns} columns" in match.game.rules(0)
    assert f"{x_in_row} of your discs in a row" in match.game.rules(1)
    assert f"{x_in_row} in a row win, moves 1 to {columns} (columns)" in match.game.rules(1, "compact")
    cells = [["."] * columns for _ in range(rows)]  # own board, lowest row first
    while seats := match.to_move():
        [seat] = seats
        free = [str(c + 1) for c in range(columns) if cells[-1][c] == "."]
        assert match.legal_moves(seat) == free
        move = rng.choice(free)  # type: ignore[attr-defined]
        row = next(r for r in range(rows) if cells[r][int(move) - 1] == ".")
        cells[row][int(move) - 1] = "xo"[seat]
        match.apply({seat: move})
        text = match.observe(1 - seat).text.splitlines()
        drawn = [line.split() for line in text[1:-1]]
        assert drawn == cells[::-1]
        assert text[-1].split() == [str(c) for c in range(1, columns + 1)]
        assert len({len(line) for line in text[1:]}) == 1, "columns line up"
        compact = match.observe(1 - seat, "compact").text.splitlines()
        assert [line.split() for line in compact[:-1]] == cells[::-1]
        assert compact[-1] == f"legal {' '.join(match.legal_moves(1 - seat) or ()) or 'none'}"
    winner = match.returns().index(1.0) if 1.0 in match.returns() else None
    lines = {seat: longest_line(cells, "xo"[seat]) for seat in (0, 1)}
    assert [lines[seat] >= x_in_row for seat in (0, 1)] == [winner == 0, winner == 1]


def longest_line(cells: list[list[str]], mark: str) -> int:
    best = 0
    for r, c in itertools.product(range(len(cells)), range(len(cells[0]))):
        for dr, dc in ((0, 1), (1, 0), (1, 1), (1, -1)):
            n = 0
            while (
                0 <= (y := r + n * dr) < len(cells) and 0 <= (x := c + n * dc) < len(cells[0]) and cells[y][x] == mark
            ):
                n += 1
            best = max(best, n)
    return best


def test_unwinnable_board_is_refused() -> None:
    with pytest.raises(BadParameter, match="x_in_row=6 cannot be reached on a board of 5 rows and 4 columns"):
        load_game("connect_four(rows=5,columns=4,x_in_row=6)")
