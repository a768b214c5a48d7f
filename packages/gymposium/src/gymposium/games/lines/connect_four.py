"""Connect Four as a text game. Columns are numbered from 1, starting at the left."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyspiel

from gymposium.errors import BadParameter
from gymposium.games.openspiel.adapter import make_openspiel_factory
from gymposium.games.openspiel.boards import ORDER, describe_turn, format_legal, space_cells
from gymposium.games.pictures import Picture, draw_disc, draw_grid, find_last_turn, find_line
from gymposium.games.protocol import Event, Style

_MARKS = "xo"


_DRAWN = {"x": draw_disc("one"), "o": draw_disc("two")}


class ConnectFour:
    """Wording for `connect_four` on a board of any size."""

    move_pattern = re.compile(r"[1-9]\d?")

    def __init__(self, engine: pyspiel.Game, rows: int, columns: int, x_in_row: int) -> None:
        if x_in_row > max(rows, columns):  # the engine accepts this, but every match would be a draw
            raise BadParameter(
                f"x_in_row={x_in_row} cannot be reached on a board of {rows} rows and {columns} columns. "
                f"Use at most {max(rows, columns)}, or a larger board."
            )
        self.rows, self.columns, self.x_in_row = rows, columns, x_in_row
        self.names = [str(column) for column in range(1, columns + 1)]
        self._width = len(str(columns))
        """Width of a cell: the number of digits in the highest column number."""
        self._footer = " ".join([name.rjust(self._width) for name in self.names])

    def rules(self, seat: int, style: Style) -> str:
        mark = _MARKS[seat]
        if style == "compact":
            return f"connect four, {self.x_in_row} in a row win, moves 1 to {self.columns} (columns), you are {mark}\n"
        return (
            f"Connect Four on a board of {self.rows} rows and {self.columns} columns. x and o take turns to drop a "
            f"disc into a column that is not full; it falls to the lowest empty cell. x moves first. "
            f"{self.x_in_row} of your discs in a row (across, down or diagonally) win. "
            f"A full board without that is a draw.\n"
            f"A move is the number of a column: 1 is the leftmost, {self.columns} the rightmost. "
            f"An empty cell is shown as a dot.\n"
            f"You play {mark} and move {ORDER[seat]}.\n"
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        board: str = state.observation_string(seat)
        if style == "compact":  # with spaces each cell is one token in most vocabularies
            return f"{space_cells(board)}\n{format_legal(state, seat, self.names)}"
        if self._width == 1:
            rows = space_cells(board)
        else:
            rows = "\n".join([" ".join([c.rjust(self._width) for c in row]) for row in board.split()])
        return f"You are {_MARKS[seat]}{describe_turn(state, seat)}. The board:\n{rows}\n{self._footer}\n"

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        rows = state.observation_string(seat).split()
        last = []
        if column := find_last_turn(events):
            x = int(column) - 1
            last = [(x, next(y for y, row in enumerate(rows) if row[x] != "."))]
        won = find_line(rows, self.x_in_row)
        places = [self.names] * self.rows  # a click anywhere in a column plays it
        board = draw_grid(rows, _DRAWN, column_names=self.names, places=places, last=last, won=[won])
        return Picture.from_parts(board, told=f"The board, row by row from the top: {' '.join(rows)}")


game = make_openspiel_factory("connect_four", ConnectFour)
