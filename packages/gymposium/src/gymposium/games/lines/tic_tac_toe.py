"""Tic-tac-toe as a text game. Squares are named as on a chess board: a3 is top left, b2 the center."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import pyspiel

from gymposium.games.openspiel.adapter import make_openspiel_factory
from gymposium.games.openspiel.boards import ORDER
from gymposium.games.pictures import Picture, draw_cross, draw_grid, draw_ring, find_last_turn, find_line
from gymposium.games.protocol import Event, Style

_MARKS = "xo"
_RULES = (
    "Tic-tac-toe on a 3 by 3 board. x and o take turns to mark an empty square; x moves first. "
    "Three of your marks in a row (across, down or diagonally) win. A full board without that is a draw.\n"
    "A square is named by its column (a, b, c) and its row (1, 2, 3): a3 is top left, b2 the centre. "
    "An empty square is shown as a dot.\n"
)
_FULL = "You are {mark}{turn}. The board:\n3 {0} {1} {2}\n2 {3} {4} {5}\n1 {6} {7} {8}\n  a b c\n"
_COMPACT = "{0} {1} {2}\n{3} {4} {5}\n{6} {7} {8}\n"


_DRAWN = {"x": draw_cross(), "o": draw_ring()}


class TicTacToe:
    """Wording for `tic_tac_toe`."""

    move_pattern = re.compile(r"[a-c][1-3]")
    names = tuple([f"{column}{row}" for row in "321" for column in "abc"])  # the engine counts from the top left

    def rules(self, seat: int, style: Style) -> str:
        if style == "compact":
            return f"tic-tac-toe, rows 3 2 1, columns a b c, you are {_MARKS[seat]}\n"
        return f"{_RULES}You play {_MARKS[seat]} and move {ORDER[seat]}.\n"

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        return _render_board(state.observation_string(seat), seat, state.current_player() == seat, style)

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        rows = state.observation_string(seat).split()
        last, won = find_last_turn(events), find_line(rows, 3)
        board = draw_grid(rows, _DRAWN, row_names="321", column_names="abc", last=last, won=[won])
        return Picture.from_parts(board, told=f"The board, row by row from the top: {' '.join(rows)}")


@cache  # 5,478 boards per seat and style
def _render_board(board: str, seat: int, to_move: bool, style: Style) -> str:
    """Return the text for an engine board such as `..x\\n.o.\\n...`."""
    cells = board.replace("\n", "")
    if style == "compact":
        free = [name for name, cell in zip(TicTacToe.names, cells) if cell == "."] if to_move else []
        return f"{_COMPACT.format(*cells)}legal {' '.join(free) or 'none'}\n"
    return _FULL.format(*cells, mark=_MARKS[seat], turn=", to move" if to_move else "")


game = make_openspiel_factory("tic_tac_toe", lambda engine: TicTacToe())
