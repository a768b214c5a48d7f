"""The Game of the Amazons as a text game (Walter Zamkauskas, 1988).

Squares are named as in chess. X starts at the bottom.

A turn has three engine moves, each its own decision: which amazon moves, where it goes and where it shoots.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pyspiel

from gymposium.games.openspiel.adapter import make_openspiel_factory
from gymposium.games.openspiel.boards import (
    ORDER,
    Frame,
    OpenBoardGame,
    build_row_pattern,
    describe_cells_and_corners,
    describe_turn,
    draw_checkered,
    format_legal,
    list_letters,
)
from gymposium.games.pictures import Picture, draw_disc, draw_tile
from gymposium.games.protocol import Event, Style
from gymposium.plugins.specs import GameSpec

_MARKS = "XO"


_DRAWN = {"X": draw_disc("one", "X"), "O": draw_disc("two", "O"), "#": draw_tile("", "line")}


class Amazons:
    """Wording for `amazons` on a board of any size."""

    def __init__(self, engine: pyspiel.Game, board_size: int) -> None:
        self.board_size = board_size
        columns = list_letters(board_size)
        rows = range(board_size, 0, -1)
        self.names = [f"{column}{row}" for row in rows for column in columns]
        self.move_pattern = re.compile(f"[{columns}]{build_row_pattern(board_size)}")
        self._frame = Frame(columns, rows)
        board: str = engine.new_initial_state().observation_string(0).replace("\n", "")
        self._starts = [
            ", ".join(sorted(name for name, cell in zip(self.names, board, strict=True) if cell == mark))
            for mark in _MARKS
        ]

    def rules(self, seat: int, style: Style) -> str:
        if style == "compact":
            return (
                f"amazons, row 1 at the bottom, a turn is three moves, each a square: the amazon, where it goes, where "
                f"it shoots; you are {_MARKS[seat]}\n"
            )
        size = self.board_size
        return (
            f"The Game of the Amazons on a board of {size} by {size} squares. At the start X has amazons on "
            f"{self._starts[0]}, and O on {self._starts[1]}. X and O take turns; X begins. A turn has three steps, "
            f"each a move of its own. Step 1: choose one of your amazons that can move. Step 2: move it as a queen in "
            f"chess, any number of squares in a straight line, across, up or down, or diagonally; every square on its "
            f"way and the last one must be empty. Step 3: from where it now stands it shoots an arrow, which flies in "
            f"the same manner over empty squares (the one just left is empty too) to any of them. The square where the "
            f"arrow lands is blocked for the rest of the game, shown as #: nothing goes there or across. Nothing is "
            f"ever captured.\n"
            f"Whoever is to begin a turn and has no amazon that can move loses; there are no draws.\n"
            f"{describe_cells_and_corners(size, size)}. A move is written as one square: that of the amazon, then "
            f"the one where it goes, then the one where it shoots. An empty square is shown as a dot.\n"
            f"You play {_MARKS[seat]} and move {ORDER[seat]}.\n"
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        board: str = state.observation_string(seat)
        player, chosen = state.current_player(), get_chosen_squares(state)
        if len(chosen) == 1:  # the engine already shows the chosen amazon's square as empty
            place = chosen[0] + chosen[0] // self.board_size
            board = f"{board[:place]}{_MARKS[player]}{board[place + 1 :]}"
        rows = board.split("\n")
        squares = [self.names[action] for action in chosen]
        if style == "compact":
            step = "over" if player < 0 else " ".join([_MARKS[player], "step", str(len(chosen) + 1), *squares])
            return f"{self._frame.render_compact(rows)}{step}\n{format_legal(state, seat, self.names)}"
        step = "The game is over." if player < 0 else _describe_step(_MARKS[player], squares)
        return f"You are {_MARKS[seat]}{describe_turn(state, seat)}. {step} The board:\n{self._frame.render_full(rows)}"

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        board: str = state.observation_string(seat)
        chosen = get_chosen_squares(state)
        if len(chosen) == 1:  # the engine already shows the chosen amazon's square as empty
            place = chosen[0] + chosen[0] // self.board_size
            board = f"{board[:place]}{_MARKS[state.current_player()]}{board[place + 1 :]}"
        rows = board.split("\n")[: self.board_size]
        return draw_checkered(rows, _DRAWN, events)


def get_chosen_squares(state: pyspiel.State) -> list[int]:
    """Return the squares chosen so far this turn: none, the amazon's, or the amazon's and its target."""
    steps = state.move_number() % 3
    chosen: list[int] = state.history()[-steps:] if steps else []
    return chosen


def _describe_step(mark: str, squares: Sequence[str]) -> str:
    if not squares:
        return f"Step 1 of 3: {mark} chooses an amazon."
    if len(squares) == 1:
        return f"Step 2 of 3: {mark} moves the amazon on {squares[0]}."
    return f"Step 3 of 3: {mark}'s amazon, moved from {squares[0]} to {squares[1]}, shoots."


class AmazonsGame(OpenBoardGame):
    """Amazons with the squares chosen so far this turn, which the engine's view and tensor omit.

    The tensor has the engine's planes for empty squares, O, X and arrows. Another plane marks the chosen amazon's
    square, if any. The last plane is all 0 if X is to move, all 1 if O is."""

    def __init__(self, spec: GameSpec, params: Mapping[str, Any], engine: pyspiel.Game, words: Amazons) -> None:
        super().__init__(spec, params, engine, words)
        assert self.tensor_shape is not None
        planes, *board = self.tensor_shape
        self.tensor_shape = (planes + 1, *board)

    def render_view(self, state: pyspiel.State, seat: int) -> str:
        return f"{super().render_view(state, seat)}{get_chosen_squares(state)}"

    def make_tensor(self, state: pyspiel.State, seat: int) -> list[float]:
        chosen = [0.0] * self._cells
        for square in get_chosen_squares(state)[-1:]:
            chosen[square] = 1.0
        values = super().make_tensor(state, seat)
        return values[: -self._cells] + chosen + values[-self._cells :]


game = make_openspiel_factory("amazons", Amazons, AmazonsGame)
