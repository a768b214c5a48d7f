"""Hex in words. The board is a rhombus of hexagons; each row is drawn half a cell to the right of the one above."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gymposium.games.openspiel.adapter import OpenSpielGame, engine_game
from gymposium.games.openspiel.boards import action_names, any_of, letters
from gymposium.games.protocol import Style

if TYPE_CHECKING:
    import pyspiel

    from gymposium.plugins.specs import GameSpec

_MARKS = "xo"


class Hex:
    """Words for `hex` on a board of any size, without the swap rule."""

    def __init__(self, engine: pyspiel.Game, board_size: int) -> None:
        self.board_size = board_size
        self._names = action_names(engine)
        columns = letters(board_size)
        self.move_pattern = re.compile(f"[{columns}]{any_of(board_size)}")
        width = len(str(board_size))
        self._labels = [str(row).rjust(width) for row in range(1, board_size + 1)]
        self._indents = [f"{' ' * row}{label} " for row, label in enumerate(self._labels)]
        self._header = f"{' ' * width} {' '.join(columns)}"
        self._footer = f"{' ' * width}{columns}"
        last = f"{columns[-1]}{board_size}"
        self._goals = (
            (f"top (row 1) to bottom (row {board_size})", f"left (column a) to right (column {columns[-1]})"),
            (f"left (column a) to right (column {columns[-1]})", f"top (row 1) to bottom (row {board_size})"),
        )
        self._rules = (
            f"Hex on a board of {board_size} by {board_size} hexagonal cells. x and o take turns to put a stone on any "
            f"empty cell; x moves first. Stones never move. x wins with a chain of touching x stones from "
            f"{self._goals[0][0]}, o with one of o stones from {self._goals[0][1]}. There are no draws.\n"
            f"A cell is named by its column (a to {columns[-1]}, from the left) and its row (1 to {board_size}, from "
            f"the top): a1 is the first cell of the first row, {last} the last of the last. Each row is shifted half a "
            f"cell to the right of the row above it, so a cell touches up to six others: b2 touches b1 and c1 above, "
            f"a2 and c2 beside it, a3 and b3 below. An empty cell is shown as a dot.\n"
        )

    def move_names(self, engine: pyspiel.Game) -> Sequence[str]:
        return self._names

    def rules(self, seat: int, style: Style) -> str:
        mine, theirs = self._goals[seat]
        if style == "compact":
            return (
                f"hex, a move is an empty cell, b2 touches b1 c1 a2 c2 a3 b3, "
                f"you are {_MARKS[seat]} and join {mine}, your opponent {theirs}\n"
            )
        order = "first" if seat == 0 else "second"
        return f"{self._rules}You play {_MARKS[seat]}, move {order} and join {mine}.\n"

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        board: str = state.observation_string(seat)
        if style == "compact":
            rows = board.replace(" ", "").split("\n")
            drawn = "\n".join([label + row for label, row in zip(self._labels, rows)])
            return f"{drawn}\n{self._footer}\n"
        drawn = "\n".join([indent + row.strip(" ") for indent, row in zip(self._indents, board.split("\n"))])
        turn = ", to move" if state.current_player() == seat else ""
        return f"You are {_MARKS[seat]}{turn}. The board:\n{self._header}\n{drawn}\n"


def game(spec: GameSpec, params: Mapping[str, Any]) -> OpenSpielGame:
    engine = engine_game("hex", params)
    return OpenSpielGame(spec, params, engine, Hex(engine, **params))
