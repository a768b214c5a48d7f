"""Y as a text game. The board is a triangle of hexagons. Cells keep the engine's names."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyspiel

from gymposium.games.connection.hexagons import Hexagons
from gymposium.games.openspiel.adapter import make_openspiel_factory
from gymposium.games.openspiel.boards import ORDER, describe_turn, format_legal
from gymposium.games.pictures import Picture, find_last_turn
from gymposium.games.protocol import Event, Style

_MARKS = "xo"


class Y:
    """Wording for `y` on a board of any size."""

    def __init__(self, engine: pyspiel.Game, board_size: int) -> None:
        self.board_size = board_size
        self.board = Hexagons(engine)
        self.names = self.board.names
        self.move_pattern = re.compile(self.board.pattern)

    def rules(self, seat: int, style: Style) -> str:
        size, rows = self.board_size, self.board.rows
        mark, right, last = _MARKS[seat], rows[0][-1], rows[-1][0]
        if style == "compact":
            return (
                f"y, join the three sides (row 1, column a, the last cells of the rows), a move is an empty cell, a "
                f"row begins with the name of its first cell, b2 touches b1 c1 a2 c2 a3 b3, you are {mark}\n"
            )
        return (
            f"Y on a board of hexagonal cells that is a triangle, {size} cells a side. x and o take turns to put a "
            f"stone on any empty cell; x moves first. Stones never move. The first to join all three sides of the "
            f"board with one chain of touching stones of their own wins. The sides are the top (row 1, from a1 to "
            f"{right}), the left (column a, from a1 to {last}) and the right (the last cell of each row, from {right} "
            f"to {last}); a corner cell belongs to both sides that meet there. There are no draws.\n"
            f"{self.board.naming_rule}\n"
            f"A cell touches up to six others: those beside it in its row; in the row above, those of its own letter "
            f"and of the letter after; in the row below, those of its own letter and of the letter before. So b2 "
            f"touches a2 and c2, b1 and c1, a3 and b3.\n"
            f"You play {mark} and move {ORDER[seat]}.\n"
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        if style == "compact":
            return self.board.render_compact(state, seat) + format_legal(state, seat, self.names)
        return f"You are {_MARKS[seat]}{describe_turn(state, seat)}. The board:\n{self.board.render_full(state, seat)}"

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        return self.board.draw_picture(state, seat, find_last_turn(events))


game = make_openspiel_factory("y", Y)
