"""Clobber as a text game. Squares are named as on a chess board: a1 is bottom left. The engine's player 0 is o."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyspiel

from gymposium.games.openspiel.adapter import make_openspiel_factory
from gymposium.games.openspiel.boards import (
    ORDER,
    build_row_pattern,
    describe_cells_and_corners,
    draw_checkered,
    list_action_names,
    list_letters,
    render_position,
    split_rows,
)
from gymposium.games.pictures import Picture, draw_disc
from gymposium.games.protocol import Event, Style

_MARKS = "ox"


_DRAWN = {"o": draw_disc("one"), "x": draw_disc("two")}


class Clobber:
    """Wording for `clobber` on a board of any size."""

    def __init__(self, engine: pyspiel.Game, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        self.names = list_action_names(engine)
        square = f"[{list_letters(columns)}]{build_row_pattern(rows)}"
        self.move_pattern = re.compile(square * 2)

    def rules(self, seat: int, style: Style) -> str:
        if style == "compact":
            return f"clobber, row 1 at the bottom, a move is from and to, you are {_MARKS[seat]}\n"
        return (
            f"Clobber on a board of {self.rows} rows and {self.columns} columns, full at the start: o and x stand on "
            f"alternate squares, o on a1. The players take turns; o moves first. A move takes one of your pieces to a "
            f"square beside it (left, right, up or down, not diagonally) that holds an opponent's piece, which is "
            f"removed. There are no other moves. Whoever cannot move loses; there are no draws.\n"
            f"{describe_cells_and_corners(self.columns, self.rows)}. A move is written as the square that the piece "
            f"leaves and the square that it goes to: a1a2. An empty square is shown as a dot.\n"
            f"You play {_MARKS[seat]} and move {ORDER[seat]}.\n"
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        return render_position(state, seat, style, mark=_MARKS[seat], rows=self.rows, names=self.names)

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        rows = split_rows(state.observation_string(seat), self.rows)
        return draw_checkered(rows, _DRAWN, events)


game = make_openspiel_factory("clobber", Clobber)
