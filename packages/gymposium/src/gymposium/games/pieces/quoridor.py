"""Quoridor as a text game (Mirko Marchesi, 1997), for two players. The engine counts its rows from the top.

Squares and walls have their usual names: a1 is bottom left, and a wall is named after the square nearest to a1 that it
touches.

The engine's known issue concerns three and four players: a forced pass has the wrong effect. With two players a pawn
can always move, so no pass occurs, and the engine's warning is suppressed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import pyspiel

from gymposium.games.openspiel.adapter import make_openspiel_factory
from gymposium.games.openspiel.boards import (
    ORDER,
    OpenBoardGame,
    build_row_pattern,
    describe_cells,
    describe_result,
    describe_turn,
    list_letters,
)
from gymposium.games.pictures import Picture, draw_disc, draw_grid, draw_note, draw_walled_board, find_last_turn
from gymposium.games.protocol import Event, Style

_MARKS = "xo"


_DRAWN = {"x": draw_disc("one"), "o": draw_disc("two")}


class Quoridor:
    """Wording for `quoridor` on a board of any size."""

    names = None

    def __init__(self, engine: pyspiel.Game, board_size: int, wall_count: int) -> None:
        self.size, self.wall_count = board_size, wall_count
        self.longest: int = engine.max_game_length()
        # The engine's actions are places in a grid of squares, gaps and crossings, by rows from the top. Places on gaps
        # are walls, named here. Places on squares are targets of pawn moves.
        grid = 2 * board_size - 1
        columns = list_letters(board_size)
        self._walls = [
            f"{columns[x // 2]}{board_size - 1 - y // 2}{'v' if x % 2 else 'h'}" if (x + y) % 2 else ""
            for y in range(grid)
            for x in range(grid)
        ]
        self._labels = [f"{board_size - y // 2:2d}" if y % 2 == 0 else "  " for y in range(grid)]
        inner = f"[{columns[:-1]}]{build_row_pattern(board_size - 1)}[hv]"
        self.move_pattern = re.compile(f"[{columns}]{build_row_pattern(board_size)}|{inner}")

    def moves(self, state: pyspiel.State, seat: int, actions: Sequence[int]) -> list[str]:
        return [self._walls[a] or self._flip_square(state.action_to_string(seat, a)) for a in actions]

    def _flip_square(self, square: str) -> str:
        return f"{square[0]}{self.size + 1 - int(square[1:])}"

    def rules(self, seat: int, style: Style) -> str:
        mark, goal = _MARKS[seat], (self.size, 1)[seat]
        if style == "compact":
            return (
                f"quoridor {self.size} by {self.size}, x from row 1 to {self.size}, o from row {self.size} to 1, "
                f"row 1 at the bottom, a move is the pawn's new square or a wall: a1h above a1 b1, a1v right of a1 a2; "
                f"draw after {self.longest} moves of both players; you are {mark} and win on row {goal}\n"
            )
        middle = list_letters(self.size)[self.size // 2]
        return (
            f"Quoridor on a board of {self.size} rows and {self.size} columns. x has a pawn on {middle}1 and wins by "
            f"reaching any square of row {self.size}; o has one on {middle}{self.size} and wins by reaching row 1. "
            f"Each player has {self.wall_count} walls. The players take turns; x moves first. A turn is to move your "
            f"pawn or to place one of your walls.\n"
            f"A pawn moves one square up, down, left or right, but not through a wall. Where the opponent's pawn "
            f"stands on that square, yours jumps over it to the next square in the same direction; only if there a "
            f"wall or the edge of the board is behind the opponent's pawn, yours goes to a square on either side of "
            f"that pawn instead, if no wall is between the two.\n"
            f"A wall is as long as two squares and lies between two rows or two columns. It may touch other walls, but "
            f"not lie on one or cross one at its middle, and it must leave both pawns a way to their goals (as if the "
            f"other pawn were not there). Walls are never moved or removed.\n"
            f"After {self.longest} moves, counting both players', the game is a draw, even if the last of them reaches "
            f"the goal.\n"
            f"{describe_cells(self.size, self.size)}: a1 is bottom left. A pawn's move is written as the square that "
            f"it goes "
            f"to. A wall is written as the bottom left of the four squares that it touches, with h if it is horizontal "
            f"and v if it is vertical: a1h lies above a1 and b1, a1v to the right of a1 and a2. On the board a wall is "
            f"drawn as two strokes with + between, an empty square as a dot.\n"
            f"You play {mark}, move {ORDER[seat]} and must reach row {goal}.\n"
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        # a line with the walls left, the columns, alternating rows of squares and of gaps, the columns
        board = state.observation_string(seat).replace(" 0 ", " x ").replace(" @ ", " o ")
        head, columns, *rows, _ = board.split("\n")[:-1]
        left = head.partition("walls: ")[2].split(", ")
        walls, number, player = " ".join(self.list_walls(state)) or "none", state.move_number(), state.current_player()
        if style == "compact":
            x, o = self._find_pawn(rows, " x "), self._find_pawn(rows, " o ")
            legal = " ".join(self.moves(state, seat, state.legal_actions(seat)))
            pawns = f"x {x} walls {left[0]}\no {o} walls {left[1]}\n"
            return f"moves {number}\n{pawns}walls {walls}\nlegal {legal or 'none'}\n"
        drawn = "\n".join([label + _strip_labels(row) for label, row in zip(self._labels, rows)])
        over = f" The game is over: {describe_result(state, _MARKS)}." if player < 0 else ""
        return (
            f"You are {_MARKS[seat]}{describe_turn(state, seat)}.{over} Moves so far: {number}. Walls left: x "
            f"{left[0]}, o "
            f"{left[1]}. Walls on the board: {walls}. The board:\n{drawn}\n{columns}\n"
        )

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        board = state.observation_string(seat).replace(" 0 ", " x ").replace(" @ ", " o ")
        head, _, *lines, _ = board.split("\n")[:-1]
        left = head.partition("walls: ")[2].split(", ")
        pawns = {self._find_pawn(lines, f" {mark} "): mark for mark in _MARKS}
        columns, numbers = list_letters(self.size), range(self.size, 0, -1)
        rows = [[pawns.get(f"{column}{row}", ".") for column in columns] for row in numbers]
        walls = self.list_walls(state)
        drawn = draw_walled_board(
            draw_grid(rows, _DRAWN, row_names=[*map(str, numbers)], column_names=columns, last=find_last_turn(events)),
            walls,
            self.size,
            last=find_last_turn(events),
        )
        told = f"Pawns: {', '.join([f'{mark} {square}' for square, mark in pawns.items()])}; walls: {' '.join(walls)}"
        return Picture.from_parts(drawn, draw_note(f"Walls left: x {left[0]}, o {left[1]}."), told=told)

    def _find_pawn(self, rows: list[str], mark: str) -> str:
        y, x = next((y, row.index(mark)) for y, row in enumerate(rows) if mark in row)
        return f"{list_letters(self.size)[x // 4]}{self.size - y // 2}"

    def list_walls(self, state: pyspiel.State) -> list[str]:
        """Return the names of the walls on the board."""
        return sorted(filter(None, map(self._walls.__getitem__, state.history())))


@lru_cache(maxsize=4096)
def _strip_labels(row: str) -> str:
    """Return a row of the engine's board without its labels."""
    return row[2:-2].rstrip()


class QuoridorGame(OpenBoardGame):
    """Quoridor with a move count, which the engine's view omits.

    The tensor has the engine's planes. Two constant planes follow: the seat to move (0 for x, 1 for o), and the number
    of moves as a fraction of the draw limit."""

    num_facts = 2

    def render_view(self, state: pyspiel.State, seat: int) -> str:
        return f"{state.observation_string(seat)}{state.move_number()}"

    def facts(self, state: pyspiel.State, seat: int) -> Sequence[float]:
        return seat, state.move_number() / self.engine.max_game_length()


game = make_openspiel_factory("quoridor", Quoridor, QuoridorGame)
