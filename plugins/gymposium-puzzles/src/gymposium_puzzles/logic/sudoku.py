"""Sudoku of 4, 6 or 9 digits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from gymposium.games.pictures import Picture, draw_grid, draw_note, draw_tile
from gymposium.games.rules import Event, Style, make_game_factory
from gymposium.util.streams import Draw
from gymposium_puzzles.puzzle import Attempt, Puzzle

BOXES = {4: (2, 2), 6: (2, 3), 9: (3, 3)}
"""Rows and columns of a box."""
EMPTY = "."
Cells = tuple[int, ...]
"""The digit in each cell, row by row; 0 for an empty one."""


class Grid(NamedTuple):
    """A position."""

    given: str
    """The cells of the puzzle, row by row."""
    cells: str
    """The cells with what was written."""


@cache
def list_peers(size: int) -> tuple[tuple[int, ...], ...]:
    """Return the other cells of each cell's row, column and box."""
    down, across = BOXES[size]

    def groups(cell: int) -> tuple[int, int, int]:
        row, column = divmod(cell, size)
        return row, column, row // down * size + column // across

    cells = range(size * size)
    return tuple(
        tuple(
            other
            for other in cells
            if other != cell and any(a == b for a, b in zip(groups(cell), groups(other), strict=True))
        )
        for cell in cells
    )


def find_solutions(cells: Cells, size: int, order: Sequence[int]) -> Iterator[Cells]:
    """Yield all solutions. The cell with the fewest possible digits is tried first, and its digits in this order."""
    peers = list_peers(size)
    best: tuple[int, list[int]] | None = None
    for cell, digit in enumerate(cells):
        if digit:
            continue
        taken = {cells[other] for other in peers[cell]}
        options = [one for one in order if one not in taken]
        if best is None or len(options) < len(best[1]):
            best = cell, options
            if len(options) <= 1:
                break
    if best is None:
        yield cells
        return
    cell, options = best
    for digit in options:
        yield from find_solutions((*cells[:cell], digit, *cells[cell + 1 :]), size, order)


@lru_cache(maxsize=4096)
def solve_grid(given: str, size: int) -> str:
    """Return the solution of a puzzle."""
    cells = tuple(0 if cell == EMPTY else int(cell) for cell in given)
    return "".join(map(str, next(find_solutions(cells, size, range(1, size + 1)))))


class Sudoku(Puzzle[Grid]):
    """Rules of sudoku. A complete grid is drawn, and cells are emptied as long as the solution stays unique."""

    name = "sudoku"

    def __init__(self, size: int, given: float, turns: int) -> None:
        self.size, self.filled = size, round(given * size * size)
        super().__init__(turns or 2 * (size * size - self.filled))
        self.moves = tuple(
            f"r{cell // size + 1}c{cell % size + 1} {digit}"
            for cell in range(size * size)
            for digit in range(1, size + 1)
        )

    def generate(self, draw: Draw) -> Grid:
        size = self.size
        while True:
            digits = draw.some(range(1, size + 1), size)
            first = tuple(draw.some(range(1, size + 1), size))  # a random first row varies the grids
            full = next(find_solutions((*first, *[0] * (size * size - size)), size, digits))
            cells, left = [*full], size * size
            for cell in draw.some(range(size * size), size * size):
                if left == self.filled:
                    break
                digit, cells[cell] = cells[cell], 0
                found = find_solutions(tuple(cells), size, digits)
                next(found)
                if next(found, None) is None:
                    left -= 1
                else:
                    cells[cell] = digit
            if left == self.filled:
                given = "".join(str(digit) if digit else EMPTY for digit in cells)
                return Grid(given, given)

    def list_moves(self, position: Grid) -> Sequence[str]:
        free = [cell for cell, digit in enumerate(position.given) if digit == EMPTY]
        size = self.size
        return [
            self.moves[cell * size + digit - 1]
            for cell in free
            for digit in range(1, size + 1)
            if str(digit) != position.cells[cell]
        ]

    def move_form(self, attempt: Attempt[Grid], seat: int) -> str:
        return f"a cell that is not given and a digit from 1 to {self.size}, like r1c2 3"

    def step(self, position: Grid, move: str) -> Grid:
        cell, digit = divmod(self.moves.index(move), self.size)
        return position._replace(cells=f"{position.cells[:cell]}{digit + 1}{position.cells[cell + 1 :]}")

    def is_solved(self, position: Grid) -> bool:
        return position.cells == solve_grid(position.given, self.size)

    def describe(self, position: Grid, style: Style) -> str:
        written = "".join(
            f" r{cell // self.size + 1}c{cell % self.size + 1}"
            for cell, (one, other) in enumerate(zip(position.given, position.cells, strict=True))
            if one != other
        )
        board = "".join(f"{' '.join(row)}\n" for row in self._list_rows(position.cells))
        return f"{board}{f'Written by you:{written}' + chr(10) if written else ''}"

    def explain(self) -> str:
        down, across = BOXES[self.size]
        return (
            f"Sudoku with the digits 1 to {self.size}. Each row, each column and each box of {down} rows and {across} "
            "columns must hold every digit once. Dots are empty cells. A move names a cell by row and column, and the "
            "digit to write. You may overwrite what you wrote, but not what is given. You score 1 if the grid is "
            "complete and right, otherwise 0."
        )

    def choose(self, position: Grid) -> str:
        solution = solve_grid(position.given, self.size)
        cell = next(cell for cell, digit in enumerate(position.cells) if digit != solution[cell])
        return self.moves[cell * self.size + int(solution[cell]) - 1]

    def draw_picture(self, attempt: Attempt[Grid], seat: int, events: Sequence[Event]) -> Picture:
        if attempt.position is None:
            return Picture.from_parts(draw_note(self.name), told=self.name)
        given, cells = attempt.position
        kinds = [digit if digit == known else f"own {digit}" for digit, known in zip(cells, given, strict=True)]
        digits = [str(digit) for digit in range(1, self.size + 1)]
        looks = {digit: draw_tile(digit, "dark", "ink") for digit in digits}
        looks |= {f"own {digit}": draw_tile(digit, "card", "ink") for digit in digits}
        rows = [kinds[first : first + self.size] for first in range(0, len(kinds), self.size)]
        board = draw_grid(rows, looks, blocks=BOXES[self.size][1] if self.size != 6 else 0)
        return Picture.from_parts(board, told=f"Row by row: {'; '.join(map(' '.join, self._list_rows(cells)))}")

    def _list_rows(self, cells: str) -> list[list[str]]:
        return [[*cells[first : first + self.size]] for first in range(0, len(cells), self.size)]


game = make_game_factory(Sudoku)
