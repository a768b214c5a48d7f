"""Dots and boxes as a text game.

Dots are named by column and row, with row 1 at the top, and lines by the dots they join."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyspiel

from gymposium.games.openspiel.adapter import OpenSpielGame, make_openspiel_factory
from gymposium.games.openspiel.boards import (
    ORDER,
    build_row_pattern,
    describe_cells_and_corners,
    describe_turn,
    format_legal,
    list_letters,
)
from gymposium.games.pictures import Picture, draw_cross, draw_edges, draw_note, draw_ring, find_last_turn
from gymposium.games.protocol import Event, Style
from gymposium.plugins.specs import GameSpec

_MARKS = "xo"
_DRAWN = str.maketrans({"─": "-", "│": "|", "╴": " ", "╶": " ", "1": "x", "2": "o"} | dict.fromkeys("┌┬┐├┼┤└┴┘", "+"))
"""Translation of the engine's lines, dots and owned boxes to ASCII."""


_OWNERS = {"x": draw_cross(), "o": draw_ring()}


class DotsAndBoxes:
    """Wording for `dots_and_boxes` on a board of any size."""

    def __init__(self, engine: pyspiel.Game, num_rows: int, num_cols: int, utility_margin: bool) -> None:
        self.rows, self.columns, self.margin = num_rows, num_cols, utility_margin
        self.dots = list_letters(num_cols + 1)
        dot = f"[{self.dots}]{build_row_pattern(num_rows + 1)}"
        self.move_pattern = re.compile(dot * 2)
        across = [f"{a}{row}{b}{row}" for row in range(1, num_rows + 2) for a, b in zip(self.dots, self.dots[1:])]
        down = [f"{column}{row}{column}{row + 1}" for row in range(1, num_rows + 1) for column in self.dots]
        self.names = across + down
        width = len(str(num_rows + 1))
        labels = [label for row in range(1, num_rows + 2) for label in (f"{row:{width}} ", " " * (width + 1))]
        self._labels = labels[:-1]
        """Row labels of the board's text lines. Every second line has dots."""
        self._header = " " * (width + 1) + "   ".join(self.dots)
        self._footer = " " * (width + 1) + " ".join(self.dots)

    def rules(self, seat: int, style: Style) -> str:
        if style == "compact":
            goal = "; your result is your boxes less your opponent's" if self.margin else ""
            return (
                f"dots and boxes, a move is a line from a dot to the next one right or below: a1b1 or a1a2; "
                f"a box closed moves again; you are {_MARKS[seat]}{goal}\n"
            )
        result = (
            "Your result is the number of your boxes less the number of your opponent's."
            if self.margin
            else "Whoever has more boxes then wins; equal numbers are a draw."
        )
        return (
            f"Dots and boxes with {self.rows} rows and {self.columns} columns of boxes. x and o take turns to draw one "
            f"line between two dots that are next to each other, across or down; x moves first. It does not matter who "
            f"drew a line. Whoever draws the fourth side of a box owns that box (one line may complete two) and must "
            f"then draw another line, unless none is left. The game ends when all {len(self.names)} lines are drawn. "
            f"{result}\n"
            f"{describe_cells_and_corners(self.columns + 1, self.rows + 1, cell='dot', row_1='top')}. A move is "
            f"written as "
            f"the two dots that the line joins, the left or the upper one first: a1b1 is the first line of the top "
            f"row, a1a2 the first line of the left side. On the board + is a dot, and x or o in a box says whose it "
            f"is.\n"
            f"You play {_MARKS[seat]} and move {ORDER[seat]}.\n"
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        board: str = state.observation_string(seat).translate(_DRAWN)
        lines = board.split("\n")
        if style == "compact":  # one of the three characters of an edge is enough
            drawn = "\n".join([label + line[::2] for label, line in zip(self._labels, lines)])
            return f"{drawn}\n{self._footer}\n{format_legal(state, seat, self.names)}"
        drawn = "\n".join([label + line for label, line in zip(self._labels, lines)])
        boxes = f"Boxes: x {board.count('x')}, o {board.count('o')}."
        return f"You are {_MARKS[seat]}{describe_turn(state, seat)}. {boxes} The board:\n{self._header}\n{drawn}\n"

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        lines = state.observation_string(seat).translate(_DRAWN).split("\n")
        drawn = [name for number, name in enumerate(self.names) if self._is_drawn(lines, number)]
        owners = [[lines[2 * y + 1][4 * x + 2].strip() for x in range(self.columns)] for y in range(self.rows)]
        board = draw_edges(owners, _OWNERS, drawn, names=self.names, last=find_last_turn(events))
        boxes = [sum(row.count(mark) for row in owners) for mark in _MARKS]
        return Picture.from_parts(
            board,
            draw_note(f"Boxes: x {boxes[0]}, o {boxes[1]}."),
            told=f"Lines drawn: {' '.join(drawn) or 'none'}",
        )

    def _is_drawn(self, lines: Sequence[str], number: int) -> bool:
        """Return whether the line with this number is drawn on the engine's board."""
        across = (self.rows + 1) * self.columns
        if number < across:
            y, x = divmod(number, self.columns)
            return lines[2 * y][4 * x + 2] == "-"
        y, x = divmod(number - across, self.columns + 1)
        return lines[2 * y + 1][4 * x] == "|"


class DotsAndBoxesGame(OpenSpielGame):
    """Dots and boxes with the seat to move in its view, and with the seat's side in its tensor.

    The engine's tensor omits the side, and shows who drew each line, which is irrelevant."""

    def __init__(self, spec: GameSpec, params: Mapping[str, Any], engine: pyspiel.Game, words: DotsAndBoxes) -> None:
        super().__init__(spec, params, engine, words)
        self.tensor_shape = (5, words.rows + 1, words.columns + 1)
        # the engine's line count is wrong on non-square boards (dots_and_boxes.h)
        self.max_decisions = len(words.names)

    def render_view(self, state: pyspiel.State, seat: int) -> str:
        return f"{state.observation_string(seat)}{state.current_player()}"

    def make_tensor(self, state: pyspiel.State, seat: int) -> list[float]:
        """Return planes with an entry per dot.

        The planes mark, for each dot, the line to its right, the line below it, and whether x or o owns the box to its
        lower right. The last plane is all 0 for x and all 1 for o."""
        parts = np.asarray(state.observation_tensor(seat), np.float32).reshape(3, -1, 3)
        free, xs, os = parts  # unowned, x's, o's
        planes = (1 - free[:, 0], 1 - free[:, 1], xs[:, 2], os[:, 2], np.full(len(free), seat))
        values: list[float] = np.concatenate(planes).tolist()
        return values


game = make_openspiel_factory("dots_and_boxes", DotsAndBoxes, DotsAndBoxesGame)
