"""Shared vocabulary of OpenSpiel board games: square names, board drawings, and recurring phrases."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pyspiel

from gymposium.games.openspiel.adapter import OpenSpielGame
from gymposium.games.openspiel.wording import Wording
from gymposium.games.pictures import Picture, PicturePart, draw_grid, draw_hexes, find_last_turn
from gymposium.games.protocol import Event, Style
from gymposium.plugins.specs import GameSpec

ORDER = ("first", "second")
"""Phrase in the rules for the turn order of seats 0 and 1."""


def describe_turn(state: pyspiel.State, seat: int) -> str:
    """Return `", to move"` if it is this seat's turn, else an empty string."""
    return ", to move" if state.current_player() == seat else ""


def format_legal(state: pyspiel.State, seat: int, names: Sequence[str], between: str = " ") -> str:
    """Return the last line of a compact prompt, such as `legal a1 b2`. `names` holds all action names.

    `between` separates the moves. Use a comma and a space if names contain spaces."""
    return f"legal {between.join([names[action] for action in state.legal_actions(seat)]) or 'none'}\n"


def describe_result(state: pyspiel.State, names: Sequence[str]) -> str:
    """Return the result of a finished game of two seats, such as `x wins` or `a draw`."""
    first = state.returns()[0]
    return f"{names[first < 0]} wins" if first else "a draw"


def describe_cells(columns: int, rows: int, *, cell: str = "square", row_1: str = "bottom") -> str:
    """Return the clause of the rules that explains cell names, without a period.

    `row_1` says where row 1 is: `"bottom"` or `"top"`."""
    return (
        f"A {cell} is named by its column (a to {list_letters(columns)[-1]}, from the left) and its row (1 to {rows}, "
        f"from "
        f"the {row_1})"
    )


def describe_cells_and_corners(columns: int, rows: int, *, cell: str = "square", row_1: str = "bottom") -> str:
    """Return `describe_cells` plus the names of two opposite corners: `…: a1 is bottom left, h8 top right`."""
    other = "top" if row_1 == "bottom" else "bottom"
    corners = f"a1 is {row_1} left, {list_letters(columns)[-1]}{rows} {other} right"
    return f"{describe_cells(columns, rows, cell=cell, row_1=row_1)}: {corners}"


def space_cells(board: str, rows: int = 1) -> str:
    """Insert a space between the squares of an engine board such as `5oxo\\n4xox\\n…\\n abc\\n`.

    `rows` gives the width of the row numbers. The default also fits boards without row numbers."""
    if rows < 10:
        return board.replace("", " ").replace(" \n ", "\n").strip()
    width = len(str(rows))
    return "\n".join([f"{line[:width]} {' '.join(line[width:])}" for line in board.split("\n")[:-1]])


def split_rows(board: str, rows: int) -> list[str]:
    """Return the rows of an engine board such as `5oxo\\n4xox\\n…\\n abc\\n`, without labels: `["oxo", "xox"]`."""
    width = len(str(rows))
    return [line[width:] for line in board.split("\n")[:rows]]


def draw_checkered(rows: Sequence[str], pieces: Mapping[str, str], events: Sequence[Event]) -> Picture:
    """Return a picture of a checkered board with chess square names and the last turn marked.

    `rows` are the board's rows from the top, `pieces` are as in `grid`, and `events` are the events that the picture
    may show."""
    board = draw_grid(
        rows,
        pieces,
        row_names=[str(row) for row in range(len(rows), 0, -1)],
        column_names=list_letters(len(rows[0])),
        checkered=True,
        last=find_last_turn(events),
    )
    return Picture.from_parts(board, told=f"The board, row by row from the top: {' '.join(rows)}")


def build_row_pattern(rows: int) -> str:
    """Return a regular expression that matches the row numbers 1 to `rows`."""
    return f"(?:{'|'.join(map(str, range(1, rows + 1)))})"


def list_letters(columns: int) -> str:
    """Return the first letters of the alphabet, one per column: `abcde` for five."""
    return "abcdefghijklmnopqrstuvwxyz"[:columns]


def list_action_names(engine: pyspiel.Game) -> list[str]:
    """Return the engine's name for every action, in games where names do not depend on the position."""
    state = engine.new_initial_state()
    return [state.action_to_string(0, action) for action in range(engine.num_distinct_actions())]


def render_position(
    state: pyspiel.State, seat: int, style: Style, *, mark: str, rows: int, names: Sequence[str]
) -> str:
    """Return the position's text for the seat that plays `mark`, if the engine's board only needs added spaces."""
    board: str = state.observation_string(seat)
    if style == "compact":
        return board + format_legal(state, seat, names)
    return f"You are {mark}{describe_turn(state, seat)}. The board:\n{space_cells(board, rows)}\n"


class Frame:
    """Row numbers to the left of a board, and a line of column letters below or above it."""

    def __init__(self, columns: str, rows: Sequence[int]) -> None:
        """`rows` holds the row numbers from top to bottom."""
        width = len(str(max(rows)))
        self.labels = [f"{row:{width}}" for row in rows]
        self.columns = f"{' ' * width} {' '.join(columns)}"
        self.dense_columns = f"{' ' * width}{columns}"
        self._indents = [f"{' ' * line}{label} " for line, label in enumerate(self.labels)]

    def render_full(self, rows: Sequence[str]) -> str:
        """Draw the board with spaces between cells and column letters below."""
        drawn = "\n".join([f"{label} {' '.join(row)}" for label, row in zip(self.labels, rows)])
        return f"{drawn}\n{self.columns}\n"

    def render_slanted(self, rows: Sequence[str]) -> str:
        """Draw a hexagon board: column letters above, each row half a cell to the right of the row above it.

        Unlike in the other drawings, `rows` must already have spaces between their cells, as in the engine's text for
        hex. Leading and trailing spaces are dropped."""
        drawn = "\n".join([indent + row.strip(" ") for indent, row in zip(self._indents, rows)])
        return f"{self.columns}\n{drawn}\n"

    def render_compact(self, rows: Sequence[str]) -> str:
        """Draw the board without spaces and with column letters below."""
        drawn = "\n".join([label + row for label, row in zip(self.labels, rows)])
        return f"{drawn}\n{self.dense_columns}\n"


def describe_goals(columns: int, rows: int) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return the sides that the seat must connect in hex, and those that its opponent must connect."""
    down = f"top (row 1) to bottom (row {rows})"
    across = f"left (column a) to right (column {list_letters(columns)[-1]})"
    return (down, across), (across, down)


def draw_hex_board(rows: Sequence[Sequence[str]], columns: str, *, last: str, won: bool = False) -> PicturePart:
    """Return a picture of a hex board with the sides that x and o connect. `last` is the last move, as in `hexes`."""
    names = [[f"{column}{row}" for column in columns] for row in range(1, len(rows) + 1)]
    sides = {"x": [*names[0], *names[-1]], "o": [name for row in names for name in (row[0], row[-1])]}
    starts = [row / 2 for row in range(len(rows))]
    return draw_hexes(rows, {"x": "one", "o": "two"}, starts=starts, names=names, last=last, sides=sides, won=won)


class OpenBoardGame(OpenSpielGame):
    """A perfect-information board game whose engine view and tensor omit facts that both seats know.

    This class adds the seat to move to the view. To the tensor it adds a constant plane for each number in `facts`."""

    num_facts = 1

    def __init__(self, spec: GameSpec, params: Mapping[str, Any], engine: pyspiel.Game, words: Wording) -> None:
        super().__init__(spec, params, engine, words)
        planes, *board = engine.observation_tensor_shape()
        self.tensor_shape = (planes + self.num_facts, *board)
        self._cells = math.prod(board)

    def facts(self, state: pyspiel.State, seat: int) -> Sequence[float]:
        """Return `num_facts` numbers for the tensor.

        The first is the seat, 0 or 1, because the engine's planes are the same for both."""
        return (seat,)

    def render_view(self, state: pyspiel.State, seat: int) -> str:
        return f"{state.observation_string(seat)}{state.current_player()}"

    def make_tensor(self, state: pyspiel.State, seat: int) -> list[float]:
        values = super().make_tensor(state, seat)
        for fact in self.facts(state, seat):
            values += [float(fact)] * self._cells
        return values
