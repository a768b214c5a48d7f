"""Hexagon boards with rows of different lengths. A drawing names each row's first and last cell."""

from __future__ import annotations

import pyspiel

from gymposium.games.openspiel.boards import list_action_names
from gymposium.games.pictures import Picture, draw_hexes

_OFF_BOARD = "unknown"
"""The engine's name of an action that has no cell on the board (havannah.cc, y.cc)."""


class Hexagons:
    """A board from havannah.cc or y.cc.

    Its text has a line of column names, then a label and ` .` per cell in each row.

    The engine puts brackets around the last stone. Its first player's stones, O, become x, and @ becomes o."""

    def __init__(self, engine: pyspiel.Game) -> None:
        names = list_action_names(engine)
        self.names = [f"{name} {i}" if name == _OFF_BOARD else name for i, name in enumerate(names)]
        """Names of all actions. Actions without a cell are never legal."""
        state = engine.new_initial_state()
        lines = state.observation_string(0).split("\n")[1:-1]
        starts = [line.index(".") for line in lines]
        lengths = [line.count(".") for line in lines]
        cells = iter([self.names[action] for action in state.legal_actions()])
        self.rows = [[next(cells) for _ in range(length)] for length in lengths]
        """Names of the cells, row by row."""
        columns = [f"[{row[0][0]}-{row[-1][0]}]{number}" for number, row in enumerate(self.rows, start=1)]
        self.pattern = "|".join(columns)
        """Regular expression for cell names."""
        self.naming_rule = (
            f"A cell is named by its column, a letter, and its row, a number: rows run across, from 1 at the top to "
            f"{len(self.rows)} at the bottom. Each row is drawn between the names of its first and its last cell; in "
            f"between, the letters follow each other as in the alphabet. An empty cell is shown as a dot."
        )
        """The rules paragraph that explains cell names."""
        self._stones = [slice(start, start + 2 * length, 2) for start, length in zip(starts, lengths)]
        width = max(len(row[0]) for row in self.rows)
        self._heads = [f"{' ' * (start - min(starts))}{row[0]:>{width}} " for start, row in zip(starts, self.rows)]
        self._tails = [f" {row[-1]}\n" for row in self.rows]
        self._labels = [f"{row[0]:{width}} " for row in self.rows]

    def render_full(self, state: pyspiel.State, seat: int) -> str:
        rows = zip(self._heads, self.read_cells(state, seat), self._tails)
        return "".join([head + " ".join(cells) + tail for head, cells, tail in rows])

    def render_compact(self, state: pyspiel.State, seat: int) -> str:
        return "".join([f"{label}{cells}\n" for label, cells in zip(self._labels, self.read_cells(state, seat))])

    def read_cells(self, state: pyspiel.State, seat: int) -> list[str]:
        """Return the content of each row's cells: x, o or a dot."""
        board: str = state.observation_string(seat).replace("O", "x").replace("@", "o")
        return [line[stones] for line, stones in zip(board.split("\n")[1:], self._stones)]

    def draw_picture(self, state: pyspiel.State, seat: int, last: str) -> Picture:
        """Return a picture of the board. `last` is the last move."""
        cells = self.read_cells(state, seat)
        left = min(stones.start for stones in self._stones)
        board = draw_hexes(
            cells,
            {"x": "one", "o": "two"},
            starts=[(stones.start - left) / 2 for stones in self._stones],
            names=self.rows,
            last=last,
            won=state.is_terminal() and any(state.returns()),
        )
        return Picture.from_parts(board, told=f"The board, row by row from the top: {' '.join(cells)}")
