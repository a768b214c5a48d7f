"""Gomoku as a text game. Points are named as in renju: columns a, b, c … from the left, and row 1 at the bottom."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyspiel

from gymposium.errors import BadParameter
from gymposium.games.openspiel.adapter import make_openspiel_factory
from gymposium.games.openspiel.boards import (
    ORDER,
    Frame,
    build_row_pattern,
    describe_cells_and_corners,
    describe_turn,
    format_legal,
    list_letters,
)
from gymposium.games.pictures import Picture, draw_disc, draw_grid, find_last_turn, find_line
from gymposium.games.protocol import Event, Style

_MARKS = "bw"


_DRAWN = {"b": draw_disc("black"), "w": draw_disc("white")}


class Gomoku:
    """Wording for `gomoku` on a flat board, in all variants."""

    def __init__(self, engine: pyspiel.Game, size: int, connect: int, anti: bool, wrap: bool) -> None:
        # the engine accepts longer lines, but every match would be a draw, or on a torus stones would count twice
        if connect > size:
            raise BadParameter(f"connect={connect} does not fit on a board of size={size}. Use at most {size}.")
        self.size, self.connect, self.anti, self.wrap = size, connect, anti, wrap
        columns, rows = list_letters(size), range(size, 0, -1)
        self.names = [f"{column}{row}" for row in rows for column in columns]  # the engine counts from the top left
        self.move_pattern = re.compile(f"[{columns}]{build_row_pattern(size)}")
        self._frame = Frame(columns, rows)

    def rules(self, seat: int, style: Style) -> str:
        size, connect, mark = self.size, self.connect, _MARKS[seat]
        last = list_letters(size)[-1]
        outcome = "loses" if self.anti else "wins"
        if style == "compact":
            edges = ", lines go on over the edges" if self.wrap else ""
            return (
                f"gomoku, {connect} or more in a line {'lose' if self.anti else 'win'}{edges}, "
                f"row 1 at the bottom, a move is an empty point, you are {mark}\n"
            )
        edges = (
            f"The board has no edges: column {last} is followed by column a and row {size} by row 1, so that a line "
            f"may leave the drawing on one side and go on at the other, diagonally too. "
            if self.wrap
            else ""
        )
        return (
            f"Gomoku on a board of {size} rows and {size} columns. b (black) and w (white) take turns to put a stone "
            f"on any empty point; b moves first. Stones never move. Whoever gets {connect} or more of their own stones "
            f"in an unbroken line (across, down or diagonally) {outcome}. {edges}A full board without that is a draw.\n"
            f"{describe_cells_and_corners(size, size, cell='point')}. An empty point is shown as a dot.\n"
            f"You play {mark} and move {ORDER[seat]}.\n"
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        rows = state.observation_string(seat).split("\n")[1:]  # the first line names the player to move
        if style == "compact":
            return self._frame.render_compact(rows) + format_legal(state, seat, self.names)
        return f"You are {_MARKS[seat]}{describe_turn(state, seat)}. The board:\n{self._frame.render_full(rows)}"

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        rows = state.observation_string(seat).split("\n")[1 : self.size + 1]
        columns, numbers = list_letters(self.size), [str(row) for row in range(self.size, 0, -1)]
        won = find_line(rows, self.connect) if state.is_terminal() else []
        board = draw_grid(
            rows,
            _DRAWN,
            row_names=numbers,
            column_names=columns,
            crossings=True,
            last=find_last_turn(events),
            won=[won],
        )
        return Picture.from_parts(board, told=f"The board, row by row from the top: {' '.join(rows)}")


game = make_openspiel_factory("gomoku", Gomoku)
