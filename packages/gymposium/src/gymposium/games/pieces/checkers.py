"""Checkers as a text game: English draughts on a board of any size. Squares are named as on a chess board.

The usual notation numbers the squares 1 to 32. It needs a numbered diagram and depends on the board's size, whereas the
drawn board shows the square names. The engine treats a capture with several jumps as several moves, one per jump.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import pyspiel

from gymposium.games.openspiel.adapter import make_openspiel_factory
from gymposium.games.openspiel.boards import (
    ORDER,
    OpenBoardGame,
    build_row_pattern,
    describe_cells,
    describe_result,
    describe_turn,
    draw_checkered,
    format_legal,
    list_action_names,
    list_letters,
    split_rows,
)
from gymposium.games.pictures import Picture, draw_disc
from gymposium.games.protocol import Event, Style
from gymposium.plugins.specs import GameSpec

_COLORS = ("White", "Black")
_PIECES = str.maketrans("o8+*", "wWbB")
"""Translation of the engine's symbols for men and kings to ours."""
_FILLED, QUIET = 3, 40
"""Rows of men per player at the start, and number of moves without a capture until a draw (checkers.cc)."""


_DRAWN = {
    "w": draw_disc("white"),
    "b": draw_disc("black"),
    "W": draw_disc("white", "K"),
    "B": draw_disc("black", "K"),
}


class Checkers:
    """Wording for `checkers` on a board of any size."""

    def __init__(self, engine: pyspiel.Game, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        start = str(engine.new_initial_state())
        self.men = start.count("o"), start.count("+")
        self.names = list_action_names(engine)
        self.squares = [re.findall(r"[a-z]\d+", name) for name in self.names]
        self._label = len(str(rows))
        self.move_pattern = re.compile(f"[{list_letters(columns)}]{build_row_pattern(rows)}" * 2)

    def rules(self, seat: int, style: Style) -> str:
        color, way = _COLORS[seat], ("up", "down")[seat]
        if style == "compact":
            return (
                f"checkers, row 1 at the bottom, men w b, kings W B, a move is from and to, each jump a move of its "
                f"own, captures compulsory, draw after {QUIET} moves of both players without one, "
                f"you are {color}, men move {way}\n"
            )
        white, black = self.men
        row = 2 + self.rows % 2  # a row where column b has a playable square
        return (
            f"Checkers (English draughts) on a board of {self.rows} rows and {self.columns} columns. At the start "
            f"White's {white} men (w) stand on every second square of the {_FILLED} rows at the bottom, Black's "
            f"{black} men (b) in the same way on the {_FILLED} rows at the top. The players take turns; White moves "
            f"first.\n"
            f"A man moves one square diagonally forward to an empty square: White's up the board, Black's down. A man "
            f"that reaches the last row (row {self.rows} for White, row 1 for Black) becomes a king (W, B), which "
            f"moves one square diagonally in any direction.\n"
            f"A piece captures by jumping diagonally over an opponent's piece on the next square to the square behind "
            f"it, which must be empty; the opponent's piece is removed. Men jump forward only, kings in any "
            f"direction. Who can capture must, and may choose among captures. If the piece that has just jumped can "
            f"capture again, the same player moves again and must go on with it; each jump is a move of its own. A man "
            f"that becomes a king by a jump does not go on.\n"
            f"Whoever is to move and cannot, because no piece is left or all are blocked, loses. After {QUIET} moves "
            f"in a row without a capture, counting both players', the game is a draw, even if the next player could "
            f"not move.\n"
            f"{describe_cells(self.columns, self.rows)}: a1 is bottom left. A move is written as the square that the "
            f"piece "
            f"leaves and the square that it goes to: b{row}c{row + 1} is a step, b{row}d{row + 2} a jump. An empty "
            f"square is shown as a dot.\n"
            f"You play {color} and move {ORDER[seat]}; your men move {way} the board.\n"
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        *rows, columns = state.observation_string(seat).split("\n")[:-1]
        quiet, jumping = self.facts(state)
        drawn = "\n".join([_render_row(row, self._label, style) for row in rows])
        if style == "compact":
            on = f"go on {jumping}\n" if jumping else ""
            return f"{drawn}\n{columns}\nquiet {quiet}\n{on}{format_legal(state, seat, self.names)}"
        player = state.current_player()
        over = f" The game is over: {describe_result(state, _COLORS)}." if player < 0 else ""
        who = "You" if player == seat else "Your opponent"
        on = f" {who} must go on jumping with the piece on {jumping}." if jumping else ""
        return (
            f"You are {_COLORS[seat]}{describe_turn(state, seat)}.{over}{on} Moves since the last capture: {quiet}. "
            f"The "
            f"board:\n"
            f"{drawn}\n{_render_row(columns, self._label, style)}\n"
        )

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        lines = split_rows(state.observation_string(seat), self.rows)
        rows = [line.translate(_PIECES) for line in lines]
        return draw_checkered(rows, _DRAWN, events)

    def facts(self, state: pyspiel.State) -> tuple[int, str]:
        """Return the number of moves since the last capture, and the square of the piece that must continue a capture,
        or "".

        The engine's board omits both."""
        history = state.history()
        quiet = 0
        for action in reversed(history):
            if action % 2:
                break
            quiet += 1
        if quiet or not history or not (legal := state.legal_actions()):
            return quiet, ""
        # If a legal move starts on the last jump's target square, the same player continues.
        square = self.squares[history[-1]][-1]
        return quiet, square if self.squares[legal[0]][0] == square else ""


@lru_cache(maxsize=4096)
def _render_row(row: str, label: int, style: Style) -> str:
    """Reformat a row of the engine's board, or its line of column names. `label` is the width of row labels."""
    squares = row[label:].translate(_PIECES)
    return row[:label] + squares if style == "compact" else f"{row[:label]} {' '.join(squares)}"


class CheckersGame(OpenBoardGame):
    """Checkers with facts that the engine's view omits: who must continue a capture, and how close a draw is.

    The tensor has the engine's planes for White's men and kings, Black's men and kings, and empty squares. Two constant
    planes follow: the seat to move (0 for White, 1 for Black), and the moves since the last capture as a fraction of
    the draw limit."""

    num_facts = 2

    wording: Checkers

    def __init__(self, spec: GameSpec, params: Mapping[str, Any], engine: pyspiel.Game, words: Checkers) -> None:
        super().__init__(spec, params, engine, words)
        # Before each capture, the quiet moves stay below the draw limit. At least one piece is left at the end.
        self.max_decisions = sum(words.men) * QUIET

    def render_view(self, state: pyspiel.State, seat: int) -> str:
        return f"{super().render_view(state, seat)} {self.wording.facts(state)}"

    def facts(self, state: pyspiel.State, seat: int) -> Sequence[float]:
        return seat, self.wording.facts(state)[0] / QUIET


game = make_openspiel_factory("checkers", Checkers, CheckersGame)
