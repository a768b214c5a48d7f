"""Lights out: solutions have the fewest presses, by an independent search of all sets of presses."""

from __future__ import annotations

from itertools import product

import pytest

from gymposium_puzzles.logic.lights_out import LightsOut, find_presses, solve_system


def switch(size: int, presses: tuple[int, ...]) -> tuple[tuple[bool, ...], ...]:
    """Return which lights are on after these presses from darkness."""

    def pressed(row: int, column: int) -> int:
        return presses[row * size + column] if 0 <= row < size and 0 <= column < size else 0

    near = ((0, 0), (0, 1), (1, 0), (0, -1), (-1, 0))
    return tuple(
        tuple(sum(pressed(row + y, column + x) for y, x in near) % 2 == 1 for column in range(size))
        for row in range(size)
    )


@pytest.mark.parametrize("size", [2, 3])
def test_solutions_have_the_fewest_presses(size: int) -> None:
    fewest: dict[tuple[tuple[bool, ...], ...], int] = {}
    for presses in product((0, 1), repeat=size * size):
        board = switch(size, presses)
        fewest[board] = min(sum(presses), fewest.get(board, 99))
    for board, count in fewest.items():
        lights = sum(1 << row * size + column for row in range(size) for column in range(size) if board[row][column])
        found = find_presses(lights, size)
        assert found is not None
        assert found.bit_count() == count


@pytest.mark.parametrize(("size", "dimension"), [(3, 0), (4, 4), (5, 2), (6, 0), (7, 0)])
def test_number_of_quiet_patterns_is_the_known_one(size: int, dimension: int) -> None:
    """The dimensions of the null spaces are in Anderson and Feil (1998), Turning Lights Out with Linear Algebra."""
    assert len(solve_system(size)[1]) == dimension


def test_impossible_lights_have_no_solution() -> None:
    assert find_presses(1, 5) is None
    assert LightsOut(5, 0).turns == 25
