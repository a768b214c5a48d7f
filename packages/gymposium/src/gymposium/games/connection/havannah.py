"""Havannah as a text game (Christian Freeling, 1979).

The board is a hexagon of hexagons. Cells keep the engine's names."""

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


class Havannah:
    """Wording for `havannah` on a board of any size, with or without the swap rule."""

    def __init__(self, engine: pyspiel.Game, board_size: int, swap: bool) -> None:
        self.board_size, self.swap = board_size, swap
        self.board = Hexagons(engine)
        self.names = self.board.names
        self.move_pattern = re.compile(self.board.pattern)

    def rules(self, seat: int, style: Style) -> str:
        mark = _MARKS[seat]
        if style == "compact":
            swap = ", o's first move may be the cell of x's stone, which becomes o's" if self.swap else ""
            return (
                f"havannah, a ring, 2 corners joined or 3 sides joined win, a move is an empty cell{swap}, a row "
                f"begins with the name of its first cell, b2 touches a1 b1 a2 c2 b3 c3, you are {mark}\n"
            )
        size, rows = self.board_size, self.board.rows
        top, middle, bottom = rows[0], rows[size - 1], rows[-1]
        swap = (
            "Instead of that, o may on its first turn play the cell of the one stone that x has put: the stone becomes "
            "o's, and it is x's turn again. "
            if self.swap
            else ""
        )
        return (
            f"Havannah on a board of hexagonal cells that is itself a hexagon, {size} cells a side. x and o take turns "
            f"to put a stone on any empty cell; x moves first. {swap}Stones never move. The first to have one of these "
            f"wins, made of touching stones of their own:\n"
            f"- a ring: a loop around at least one cell, whether the cells inside are empty or hold stones of either "
            f"player;\n"
            f"- a bridge: a chain that joins two of the six corner cells, which are {top[0]}, {top[-1]}, {middle[0]}, "
            f"{middle[-1]}, {bottom[0]} and {bottom[-1]};\n"
            f"- a fork: a chain that joins three of the six sides. A corner cell belongs to no side.\n"
            f"A full board without any of these is a draw.\n"
            f"{self.board.naming_rule}\n"
            f"A cell touches up to six others: those beside it in its row; in the row above, those of its own letter "
            f"and of the letter before; in the row below, those of its own letter and of the letter after. So b2 "
            f"touches a2 and c2, a1 and b1, b3 and c3.\n"
            f"You play {mark} and move {ORDER[seat]}.\n"
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        board, swap = self.board, ""
        if style == "compact":
            return board.render_compact(state, seat) + format_legal(state, seat, self.names)
        if self.swap and state.current_player() == seat == len(state.history()) == 1:
            swap = board.names[state.history()[0]]
        offer = f" You may also play {swap}, which makes the stone there yours." if swap else ""
        return (
            f"You are {_MARKS[seat]}{describe_turn(state, seat)}.{offer} The board:\n{board.render_full(state, seat)}"
        )

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        return self.board.draw_picture(state, seat, find_last_turn(events))


game = make_openspiel_factory("havannah", Havannah)
