"""Sudoku: each instance has one solution, by an independent search, and mistakes can be mended."""

from __future__ import annotations

import pytest

from gymposium import load_game
from gymposium.games.rules import RulesGame
from gymposium_puzzles.logic.sudoku import solve_grid


def count_solutions(cells: list[int], size: int, down: int, across: int, most: int = 2) -> int:
    """Return the number of solutions, at most `most`, by trying all digits cell by cell."""
    if 0 not in cells:
        return 1
    cell = cells.index(0)
    row, column = divmod(cell, size)
    count = 0
    for digit in range(1, size + 1):
        in_row = digit in cells[row * size : (row + 1) * size]
        in_column = digit in cells[column::size]
        top, left = row // down * down, column // across * across
        in_box = any(digit in cells[y * size + left : y * size + left + across] for y in range(top, top + down))
        if not (in_row or in_column or in_box):
            count += count_solutions([*cells[:cell], digit, *cells[cell + 1 :]], size, down, across, most - count)
            if count >= most:
                break
    return count


@pytest.mark.parametrize(("size", "given", "box"), [(4, 0.45, (2, 2)), (6, 0.5, (2, 3)), (9, 0.62, (3, 3))])
def test_instances_have_one_solution(size: int, given: float, box: tuple[int, int]) -> None:
    game = load_game("sudoku", size=size, given=given)
    assert isinstance(game, RulesGame)
    grids = {game.new(seed).state.position.given for seed in range(6)}
    assert len(grids) == 6
    for grid in grids:
        cells = [0 if cell == "." else int(cell) for cell in grid]
        assert len(cells) - cells.count(0) == round(given * size * size)
        assert count_solutions(cells, size, *box) == 1


def test_mistakes_can_be_overwritten_and_givens_not() -> None:
    game = load_game("sudoku")
    assert isinstance(game, RulesGame)
    match = game.new(1)
    given = match.state.position.given
    cell = given.index(".")
    right = int(solve_grid(given, 4)[cell])
    name = f"r{cell // 4 + 1}c{cell % 4 + 1}"
    match.apply({0: f"{name} {right % 4 + 1}"})
    assert f"Written by you: {name}\n" in match.observe(0).text
    assert f"{name} {right}" in (match.legal_moves(0) or [])
    fixed = next(at for at, digit in enumerate(given) if digit != ".")
    assert not any(move.startswith(f"r{fixed // 4 + 1}c{fixed % 4 + 1} ") for move in match.legal_moves(0) or [])
