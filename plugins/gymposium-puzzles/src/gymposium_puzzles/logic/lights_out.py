"""Lights out: each press switches a light and its neighbors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import combinations

from gymposium.games.pictures import Picture, draw_disc, draw_grid, draw_note, find_last_turn
from gymposium.games.rules import Event, Style, make_game_factory
from gymposium.util.streams import Draw
from gymposium_puzzles.puzzle import Attempt, Puzzle

COLUMNS = "abcdefg"


@cache
def list_presses(size: int) -> tuple[int, ...]:
    """Return what each press switches: a bit for each light, row by row."""
    squares = [(row, column) for row in range(size) for column in range(size)]
    return tuple(
        sum(1 << y * size + x for y, x in squares if abs(y - row) + abs(x - column) <= 1) for row, column in squares
    )


@cache
def solve_system(size: int) -> tuple[dict[int, tuple[int, int]], tuple[int, ...]]:
    """Solve the linear equations over two elements by Gaussian elimination.

    Returns the rows by their leading light, each with the lights that it switches and the presses that do so, and the
    sets of presses that switch nothing."""
    rows: dict[int, tuple[int, int]] = {}
    quiet = []
    for number, lights in enumerate(list_presses(size)):
        presses = 1 << number
        while lights and (lead := lights.bit_length() - 1) in rows:
            lights, presses = lights ^ rows[lead][0], presses ^ rows[lead][1]
        if lights:
            rows[lights.bit_length() - 1] = lights, presses
        else:
            quiet.append(presses)
    return rows, tuple(quiet)


def find_presses(lights: int, size: int) -> int | None:
    """Return the fewest presses that switch off these lights, a bit for each; None if it is impossible."""
    rows, quiet = solve_system(size)
    presses = 0
    while lights:
        if (lead := lights.bit_length() - 1) not in rows:
            return None
        lights, presses = lights ^ rows[lead][0], presses ^ rows[lead][1]
    options = [presses]
    for count in range(1, len(quiet) + 1):
        for some in combinations(quiet, count):
            other = presses
            for one in some:
                other ^= one
            options.append(other)
    return min(options, key=int.bit_count)


class LightsOut(Puzzle[int]):
    """Rules of lights out. A position has a bit for each light that is on.

    An instance is made by presses from darkness, so it has a solution. The solver's has the fewest presses."""

    name = "lights out"

    def __init__(self, size: int, turns: int) -> None:
        super().__init__(turns or size * size)
        self.size = size
        self.presses = list_presses(size)
        self.moves = tuple(f"press {column}{row + 1}" for row in range(size) for column in COLUMNS[:size])

    def generate(self, draw: Draw) -> int:
        while True:
            lights = 0
            for press in self.presses:
                lights ^= press * draw.chance(0.5)
            if lights and (find_presses(lights, self.size) or 0).bit_count() <= self.turns:
                return lights

    def list_moves(self, position: int) -> Sequence[str]:
        return self.moves

    def step(self, position: int, move: str) -> int:
        return position ^ self.presses[self.moves.index(move)]

    def is_solved(self, position: int) -> bool:
        return position == 0

    def describe(self, position: int, style: Style) -> str:
        rows = [f"{row + 1} {' '.join(cells)}\n" for row, cells in enumerate(self._list_rows(position))]
        return f"  {' '.join(COLUMNS[: self.size])}\n{''.join(rows)}"

    def explain(self) -> str:
        return (
            f"Lights out on {self.size} rows and {self.size} columns. # is a light that is on and . one that is off. A "
            "press switches its light and the lights above, below, left and right of it. You score 1 if all lights are "
            "off, otherwise 0."
        )

    def choose(self, position: int) -> str:
        presses = find_presses(position, self.size) or 1
        return self.moves[(presses & -presses).bit_length() - 1]

    def draw_picture(self, attempt: Attempt[int], seat: int, events: Sequence[Event]) -> Picture:
        if attempt.position is None:
            return Picture.from_parts(draw_note(self.name), told=self.name)
        rows, names = self._list_rows(attempt.position), [str(row + 1) for row in range(self.size)]
        lights = {"#": draw_disc("mark"), ".": draw_disc("square")}
        last = find_last_turn(events)
        board = draw_grid(rows, lights, row_names=names, column_names=COLUMNS[: self.size], last=last)
        return Picture.from_parts(board, told=f"Lights, row by row: {'; '.join(map(' '.join, rows))}")

    def _list_rows(self, lights: int) -> list[list[str]]:
        size = self.size
        return [["#" if lights >> row * size + column & 1 else "." for column in range(size)] for row in range(size)]


game = make_game_factory(LightsOut)
