"""Breakthrough as a text game (Dan Troyka, 2000).

Squares are named as on a chess board. b is at the top and moves first."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyspiel

from gymposium.games.openspiel.adapter import make_openspiel_factory
from gymposium.games.openspiel.boards import (
    ORDER,
    OpenBoardGame,
    build_row_pattern,
    describe_cells,
    draw_checkered,
    list_action_names,
    list_letters,
    render_position,
    split_rows,
)
from gymposium.games.pictures import Picture, draw_disc
from gymposium.games.protocol import Event, Style

_MARKS = "bw"
_DIRECTIONS = ("down", "up")
_FULL_ROWS = 6
"""Minimum number of rows for starting with two rows of pieces instead of one (breakthrough.cc)."""


_DRAWN = {"b": draw_disc("black"), "w": draw_disc("white")}


class Breakthrough:
    """Wording for `breakthrough` on a board of any size."""

    names = None

    def __init__(self, engine: pyspiel.Game, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        # The engine has two actions for each step, and marks the capture with `*`. The piece on the target square
        # decides which one is legal, and players often omit the mark, so both have the same name.
        self.steps = [name.removesuffix("*") for name in list_action_names(engine)]
        self.move_pattern = re.compile(f"[{list_letters(columns)}]{build_row_pattern(rows)}" * 2)

    def moves(self, state: pyspiel.State, seat: int, actions: Sequence[int]) -> list[str]:
        return [self.steps[action] for action in actions]

    def rules(self, seat: int, style: Style) -> str:
        goal = f"row {1 if seat == 0 else self.rows}"
        if style == "compact":
            return (
                f"breakthrough, row 1 at the bottom, a move is from and to, "
                f"you are {_MARKS[seat]}, move {_DIRECTIONS[seat]} and win on {goal}\n"
            )
        deep = 2 if self.rows >= _FULL_ROWS else 1
        filled = "two rows" if deep == 2 else "row"
        start, end = (self.rows + 1 - deep, self.rows - deep) if seat == 0 else (deep, deep + 1)
        return (
            f"Breakthrough on a board of {self.rows} rows and {self.columns} columns. At the start b fills the "
            f"{filled} at the top, w the {filled} at the bottom. b and w take turns to move one piece one square "
            f"forward: b down the board, w up. b moves first. A piece moves straight or diagonally forward to an empty "
            f"square, or diagonally forward to a square that holds an opponent's piece, which is removed. It can never "
            f"capture straight ahead.\n"
            f"b wins by reaching row 1, w by reaching row {self.rows}; whoever loses all pieces loses too. There are "
            f"no draws.\n"
            f"{describe_cells(self.columns, self.rows)}. A move is written as the square that the piece leaves and "
            f"the square "
            f"that it goes to, whether or not it captures: a{start}a{end}. An empty square is shown as a dot.\n"
            f"You play {_MARKS[seat]}, move {ORDER[seat]}, {_DIRECTIONS[seat]} the board, and must reach {goal}.\n"
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        return render_position(state, seat, style, mark=_MARKS[seat], rows=self.rows, names=self.steps)

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        rows = split_rows(state.observation_string(seat), self.rows)
        return draw_checkered(rows, _DRAWN, events)


game = make_openspiel_factory("breakthrough", Breakthrough, OpenBoardGame)
