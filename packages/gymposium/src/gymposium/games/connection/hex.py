"""Hex as a text game.

The board is a rhombus of hexagons. Each row is drawn half a cell to the right of the one above."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyspiel

from gymposium.games.openspiel.adapter import make_openspiel_factory
from gymposium.games.openspiel.boards import (
    ORDER,
    Frame,
    build_row_pattern,
    describe_cells,
    describe_goals,
    describe_turn,
    draw_hex_board,
    format_legal,
    list_action_names,
    list_letters,
)
from gymposium.games.pictures import Picture, draw_note, find_last_turn
from gymposium.games.protocol import Event, Style

_MARKS = "xo"


class Hex:
    """Wording for `hex` on a board of any size, without the swap rule."""

    def __init__(self, engine: pyspiel.Game, board_size: int) -> None:
        self.board_size = board_size
        self.names = list_action_names(engine)
        columns = list_letters(board_size)
        self.move_pattern = re.compile(f"[{columns}]{build_row_pattern(board_size)}")
        self._frame = Frame(columns, range(1, board_size + 1))
        last = f"{columns[-1]}{board_size}"
        self._goals = describe_goals(board_size, board_size)
        self._rules = (
            f"Hex on a board of {board_size} by {board_size} hexagonal cells. x and o take turns to put a stone on any "
            f"empty cell; x moves first. Stones never move. x wins with a chain of touching x stones from "
            f"{self._goals[0][0]}, o with one of o stones from {self._goals[0][1]}. There are no draws.\n"
            f"{describe_cells(board_size, board_size, cell='cell', row_1='top')}: a1 is the first cell of the first "
            f"row, "
            f"{last} the last of the last. Each row is shifted half a cell to the right of the row above it, so a cell "
            f"touches up to six others: b2 touches b1 and c1 above, a2 and c2 beside it, a3 and b3 below. An empty "
            f"cell is shown as a dot.\n"
        )

    def rules(self, seat: int, style: Style) -> str:
        mine, theirs = self._goals[seat]
        if style == "compact":
            return (
                f"hex, a move is an empty cell, b2 touches b1 c1 a2 c2 a3 b3, "
                f"you are {_MARKS[seat]} and join {mine}, your opponent {theirs}\n"
            )
        return f"{self._rules}You play {_MARKS[seat]}, move {ORDER[seat]} and join {mine}.\n"

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        board: str = state.observation_string(seat)
        if style == "compact":
            rows = board.replace(" ", "").split("\n")
            return self._frame.render_compact(rows) + format_legal(state, seat, self.names)
        drawn = self._frame.render_slanted(board.split("\n"))
        return f"You are {_MARKS[seat]}{describe_turn(state, seat)}. The board:\n{drawn}"

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        rows = [line.split() for line in state.observation_string(seat).split("\n")[: self.board_size]]
        board = draw_hex_board(rows, list_letters(len(rows)), last=find_last_turn(events), won=state.is_terminal())
        told = f"The board, row by row from the top: {' '.join(map(''.join, rows))}"
        return Picture.from_parts(board, draw_note(f"x joins {self._goals[0][0]}, o {self._goals[1][0]}."), told=told)


game = make_openspiel_factory("hex", Hex)
