"""The fifteen puzzle: slide numbered tiles into order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from gymposium.games.pictures import Picture, draw_grid, draw_note, draw_tile
from gymposium.games.rules import Event, Style, make_game_factory
from gymposium.util.streams import Draw
from gymposium_puzzles.puzzle import Attempt, Puzzle

Tiles = tuple[int, ...]
"""The tile on each square, row by row; 0 is the gap."""


def list_neighbors(gap: int, size: int) -> list[int]:
    """Return the squares beside a square: above, left, right and below."""
    row, column = divmod(gap, size)
    near = ((row - 1, column), (row, column - 1), (row, column + 1), (row + 1, column))
    return [y * size + x for y, x in near if 0 <= y < size and 0 <= x < size]


def slide(tiles: Tiles, square: int) -> Tiles:
    """Return the tiles after the one on this square slides into the gap."""
    after = [*tiles]
    gap = after.index(0)
    after[gap], after[square] = after[square], 0
    return tuple(after)


def estimate_slides(tiles: Tiles, size: int) -> int:
    """Return a lower bound on the number of slides to the goal.

    It is the sum of the tiles' distances, and two more slides for each tile that another one of its own line blocks."""
    total = 0
    for square, tile in enumerate(tiles):
        if tile:
            (y, x), (row, column) = divmod(square, size), divmod(tile - 1, size)
            total += abs(y - row) + abs(x - column)
    rows = [
        [tile - 1 for tile in tiles[row * size : (row + 1) * size] if tile and (tile - 1) // size == row]
        for row in range(size)
    ]
    columns = [
        [tile - 1 for tile in tiles[column::size] if tile and (tile - 1) % size == column] for column in range(size)
    ]
    return total + 2 * sum(len(line) - _count_longest_rise(line) for line in (*rows, *columns))


def _count_longest_rise(line: Sequence[int]) -> int:
    """Return the length of the longest increasing subsequence: the tiles of a line that need not leave it."""
    best: list[int] = []
    for place, tile in enumerate(line):
        best.append(1 + max((best[other] for other in range(place) if line[other] < tile), default=0))
    return max(best, default=0)


@lru_cache(maxsize=1024)
def find_path(tiles: Tiles, size: int) -> tuple[int, ...]:
    """Return the tiles of a shortest solution, in the order of their slides (IDA*: Korf, 1985)."""
    bound, path = estimate_slides(tiles, size), [tiles]
    moved: list[int] = []

    def search(bound: int) -> float:
        """Return 0 if a solution within the bound was found, else the next bound."""
        here = path[-1]
        rest = estimate_slides(here, size)
        if len(moved) + rest > bound:
            return len(moved) + rest
        if rest == 0:
            return 0
        least = float("inf")
        gap = here.index(0)
        for square in list_neighbors(gap, size):
            if moved and here[square] == moved[-1]:  # it would undo the last slide
                continue
            moved.append(here[square])
            path.append(slide(here, square))
            found = search(bound)
            if found == 0:
                return 0
            least = min(least, found)
            moved.pop()
            path.pop()
        return least

    while (found := search(bound)) != 0:
        bound = int(found)
    return tuple(moved)


class Fifteen(Puzzle[Tiles]):
    """Rules of the fifteen puzzle and its other sizes.

    An instance is mixed by slides from the goal, so it has a solution. The solver's is shortest."""

    name = "fifteen puzzle"

    def __init__(self, size: int, mixed: int, turns: int) -> None:
        super().__init__(turns or 2 * mixed)
        self.size, self.mixed = size, mixed
        self.goal: Tiles = (*range(1, size * size), 0)
        self.moves = tuple(f"slide {tile}" for tile in self.goal[:-1])

    def generate(self, draw: Draw) -> Tiles:
        tiles, last = self.goal, -1
        slides = self.mixed
        while slides > 0 or tiles == self.goal:
            gap = tiles.index(0)
            square = draw.pick([one for one in list_neighbors(gap, self.size) if one != last])
            tiles, last, slides = slide(tiles, square), gap, slides - 1
        return tiles

    def list_moves(self, position: Tiles) -> Sequence[str]:
        return [f"slide {position[square]}" for square in list_neighbors(position.index(0), self.size)]

    def step(self, position: Tiles, move: str) -> Tiles:
        return slide(position, position.index(int(move.split()[1])))

    def is_solved(self, position: Tiles) -> bool:
        return position == self.goal

    def describe(self, position: Tiles, style: Style) -> str:
        width = len(str(len(position) - 1))
        return "".join(f"{' '.join(f'{cell:>{width}}' for cell in row)}\n" for row in self._list_rows(position))

    def explain(self) -> str:
        order = ", ".join(" ".join(row) for row in self._list_rows(self.goal))
        return (
            f"A sliding puzzle with {len(self.moves)} tiles on {self.size} rows and {self.size} columns. The dot is "
            "the gap. A move slides a tile beside the gap into it. You score 1 for this order of the tiles, row "
            f"by row: {order}. Any other order scores 0."
        )

    def choose(self, position: Tiles) -> str:
        return f"slide {find_path(position, self.size)[0]}"

    def draw_picture(self, attempt: Attempt[Tiles], seat: int, events: Sequence[Event]) -> Picture:
        if attempt.position is None:
            return Picture.from_parts(draw_note(self.name), told=self.name)
        rows = self._list_rows(attempt.position)
        tiles = {cell: draw_tile(cell, "card", "ink") for row in rows for cell in row if cell != "."}
        return Picture.from_parts(draw_grid(rows, tiles), told=f"Row by row: {'; '.join(map(' '.join, rows))}")

    def _list_rows(self, tiles: Tiles) -> list[list[str]]:
        cells = [str(tile) if tile else "." for tile in tiles]
        return [cells[first : first + self.size] for first in range(0, len(cells), self.size)]


game = make_game_factory(Fifteen)
