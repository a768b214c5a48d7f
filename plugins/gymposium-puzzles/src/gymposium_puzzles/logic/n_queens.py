"""The queens puzzle: complete a board of queens that do not attack each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from gymposium.games.pictures import Picture, draw_disc, draw_grid, draw_note, find_last_turn
from gymposium.games.rules import Event, Style, make_game_factory
from gymposium.util.streams import Draw
from gymposium_puzzles.puzzle import Attempt, Puzzle

COLUMNS = "abcdefghijkl"
NONE = -1
MOST_LISTED = 60
"""Maximum number of legal moves that prompts list."""
Queens = tuple[int, ...]
"""The column of each row's queen; `NONE` for an empty row."""


class Board(NamedTuple):
    """A position."""

    given: Queens
    queens: Queens


def attack(row: int, column: int, other_row: int, other_column: int) -> bool:
    """Return whether two queens attack each other."""
    return column == other_column or row == other_row or abs(row - other_row) == abs(column - other_column)


def find_completions(queens: Queens, order: Sequence[int]) -> Iterator[Queens]:
    """Yield all ways to place queens in the empty rows. Columns are tried in this order."""
    if NONE not in queens:
        yield queens
        return
    row = queens.index(NONE)
    placed = [(other, column) for other, column in enumerate(queens) if column != NONE]
    for column in order:
        if not any(attack(row, column, *one) for one in placed):
            yield from find_completions((*queens[:row], column, *queens[row + 1 :]), order)


@lru_cache(maxsize=4096)
def complete(given: Queens) -> Queens:
    """Return the first completion."""
    return next(find_completions(given, range(len(given))))


class NQueens(Puzzle[Board]):
    """Rules of the queens puzzle. Some queens of a random solution are given, so a completion exists."""

    name = "queens puzzle"

    def __init__(self, size: int, given: int, turns: int) -> None:
        self.size, self.given = size, given
        super().__init__(turns or 2 * (size - given))
        self.moves = tuple(f"queen {column}{row + 1}" for row in range(size) for column in COLUMNS[:size])

    def generate(self, draw: Draw) -> Board:
        order = draw.some(range(self.size), self.size)
        first = (draw.below(self.size), *[NONE] * (self.size - 1))
        full = next(find_completions(first, order), None)
        if full is None:
            return self.generate(draw)
        kept = draw.some(range(self.size), self.given)
        given = tuple(column if row in kept else NONE for row, column in enumerate(full))
        return Board(given, given)

    def list_moves(self, position: Board) -> Sequence[str]:
        return [
            self.moves[row * self.size + column]
            for row, given in enumerate(position.given)
            if given == NONE
            for column in range(self.size)
            if column != position.queens[row]
        ]

    def move_form(self, attempt: Attempt[Board], seat: int) -> str:
        if self.size * (self.size - self.given) <= MOST_LISTED:
            return ""
        return f"queen and a square of a row without a given queen, like queen {COLUMNS[self.size // 2]}1"

    def step(self, position: Board, move: str) -> Board:
        row, column = divmod(self.moves.index(move), self.size)
        return position._replace(queens=(*position.queens[:row], column, *position.queens[row + 1 :]))

    def is_solved(self, position: Board) -> bool:
        placed = [*enumerate(position.queens)]
        return NONE not in position.queens and not any(
            attack(*one, *other) for number, one in enumerate(placed) for other in placed[:number]
        )

    def describe(self, position: Board, style: Style) -> str:
        rows = [f"{row + 1:>2} {' '.join(cells)}\n" for row, cells in enumerate(self._list_rows(position))]
        return f"   {' '.join(COLUMNS[: self.size])}\n{''.join(rows)}"

    def explain(self) -> str:
        return (
            f"The queens puzzle on {self.size} rows and {self.size} columns. Q is a given queen, q one of yours, and . "
            "is empty. A move puts the queen of a row on a square, and takes away your earlier queen of that row. "
            f"You score 1 if {self.size} queens stand on the board and none attacks another along a row, a column or a "
            "diagonal. Otherwise you score 0."
        )

    def choose(self, position: Board) -> str:
        solution = complete(position.given)
        row = next(row for row, column in enumerate(position.queens) if column != solution[row])
        return self.moves[row * self.size + solution[row]]

    def draw_picture(self, attempt: Attempt[Board], seat: int, events: Sequence[Event]) -> Picture:
        if attempt.position is None:
            return Picture.from_parts(draw_note(self.name), told=self.name)
        rows, names = self._list_rows(attempt.position), [str(row + 1) for row in range(self.size)]
        queens = {"Q": draw_disc("black", "Q"), "q": draw_disc("one", "Q")}
        board = draw_grid(
            rows,
            queens,
            row_names=names,
            column_names=COLUMNS[: self.size],
            checkered=True,
            last=find_last_turn(events).removeprefix("queen "),
        )
        return Picture.from_parts(board, told=f"The board, row by row: {'; '.join(map(' '.join, rows))}")

    def _list_rows(self, position: Board) -> list[list[str]]:
        return [
            [("q" if given == NONE else "Q") if column == at else "." for at in range(self.size)]
            for given, column in zip(*position, strict=True)
        ]


game = make_game_factory(NQueens)
