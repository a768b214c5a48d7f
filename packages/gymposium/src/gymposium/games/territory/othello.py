"""Othello as a text game. Squares have their usual names: columns a … h, and row 1 at the top."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyspiel

from gymposium.games.openspiel.adapter import make_openspiel_factory
from gymposium.games.openspiel.boards import (
    ORDER,
    describe_cells_and_corners,
    describe_turn,
    format_legal,
    list_action_names,
)
from gymposium.games.pictures import Picture, draw_disc, draw_grid, draw_note, find_last_turn
from gymposium.games.protocol import Event, Style

_MARKS = "xo"
_RULES = (
    "Othello on an 8 by 8 board. x and o take turns to place a disc of their own on an empty square; x moves first. "
    "A move must enclose at least one of the opponent's discs: from the new disc, in a straight line (across, down or "
    "diagonally), an unbroken run of the opponent's discs that ends at a disc of your own. All discs so enclosed, in "
    "every direction, become yours.\n"
    "A player who can enclose nothing must pass; pass is legal only then. The game ends when neither player can "
    "enclose anything, often with the board full. Whoever has more discs then wins; equal numbers are a draw.\n"
    f"{describe_cells_and_corners(8, 8, row_1='top')}. An empty square is shown as a dot.\n"
)


_DRAWN = {"x": draw_disc("one"), "o": draw_disc("two")}


class Othello:
    """Wording for `othello`."""

    move_pattern = re.compile(r"[a-h][1-8]|pass")

    def __init__(self, engine: pyspiel.Game) -> None:
        self.names = list_action_names(engine)

    def rules(self, seat: int, style: Style) -> str:
        if style == "compact":
            return f"othello, a move is a square or pass, row 1 at the top, you are {_MARKS[seat]}\n"
        return f"{_RULES}You play {_MARKS[seat]} and move {ORDER[seat]}.\n"

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        # a line with the player to move, the columns, then rows such as `1 - - x o - - - - 1`
        board: str = state.observation_string(seat).partition("\n")[2].replace("-", ".")
        if style == "compact":
            rows = board.replace(" ", "").split("\n")
            drawn = "\n".join([row[:-1] for row in rows[1:9]])
            return f"{drawn}\n {rows[0]}\n{format_legal(state, seat, self.names)}"
        discs = f"Discs: x {board.count('x')}, o {board.count('o')}."
        drawn = "\n".join([row[:17] for row in board.split("\n")[:9]])
        return f"You are {_MARKS[seat]}{describe_turn(state, seat)}. {discs} The board:\n{drawn}\n"

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        lines = state.observation_string(seat).replace("-", ".").split("\n")[2:10]
        rows = [line[2:17].split() for line in lines]
        board = draw_grid(rows, _DRAWN, row_names="12345678", column_names="abcdefgh", last=find_last_turn(events))
        counts = [sum(row.count(mark) for row in rows) for mark in _MARKS]
        told = f"The board, row by row from the top: {' '.join(map(''.join, rows))}"
        return Picture.from_parts(board, draw_note(f"Discs: x {counts[0]}, o {counts[1]}."), told=told)


game = make_openspiel_factory("othello", Othello)
