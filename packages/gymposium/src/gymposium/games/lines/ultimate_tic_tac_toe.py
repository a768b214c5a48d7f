"""Ultimate tic-tac-toe as a text game.

Boards, and squares within a board, are numbered 1 to 9 row by row from the top left. A move on square N sends the
opponent to board N.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache

import pyspiel

from gymposium.games.openspiel.adapter import make_openspiel_factory
from gymposium.games.openspiel.boards import ORDER, space_cells
from gymposium.games.pictures import Picture, draw_cross, draw_grid, draw_note, draw_ring
from gymposium.games.protocol import Event, Style

_MARKS = "xo"
_LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
_RULES = (
    "Ultimate tic-tac-toe: nine boards of tic-tac-toe, laid out 3 by 3. x and o take turns to mark an empty square; x "
    "moves first. Three of your marks in a row (across, down or diagonally) in a board win that board; a board that is "
    "full without that is drawn. In a finished board, won or drawn, nobody plays any more. Three boards in a row "
    "(across, down or diagonally) that you have won win the game. When all nine boards are finished without that, the "
    "game is a draw.\n"
    "Boards, and the squares within each board, are numbered alike, row by row: 1 2 3 at the top, 4 5 6, then 7 8 9 at "
    "the bottom. The number of the square that is marked is the number of the board where the opponent must play next. "
    "If that board is finished, the opponent first chooses an unfinished board, then marks a square in it; the game "
    "begins with such a choice by x. A board that was chosen must be played in.\n"
    "A mark is written as board/square: 5/3 marks the top right square of the central board and sends the opponent to "
    "board 3, at the top right. The choice of a board is written as the word board and its number: board 5. An empty "
    "square is shown as a dot.\n"
)
_FULL = """\
  1       2       3
{0}
------+-------+------
  4       5       6
{1}
------+-------+------
  7       8       9
{2}
"""
_BOARDS = (0, 1, 2, 9, 10, 11, 18, 19, 20)
"""Index of each board's first row among the engine's rows of three squares."""
_BOARD_END = 109
"""End index of the board in the engine's view."""
_CACHE_SIZE = 20_000
"""Size of the cache for summaries of the nine boards. There are 4 ** 9 possible summaries, but few recur."""


_NAMES = {f"Choose local board {board}": f"board {board + 1}" for board in range(9)} | {
    f"Local board {board}: {mark}({square // 3},{square % 3})": f"{board + 1}/{square + 1}"
    for board in range(9)
    for square in range(9)
    for mark in _MARKS
}
"""Our name for each action, by the engine's name, which includes the step and the board (ultimate_tic_tac_toe.cc)."""


_DRAWN = {"x": draw_cross(), "o": draw_ring()}
_PLACES = [[f"{y // 3 * 3 + x // 3 + 1}/{y % 3 * 3 + x % 3 + 1}" for x in range(9)] for y in range(9)]
"""Names of the squares, row by row."""


class UltimateTicTacToe:
    """Wording for `ultimate_tic_tac_toe`."""

    move_pattern = re.compile(r"board [1-9]|[1-9]/[1-9]")
    names = None

    def moves(self, state: pyspiel.State, seat: int, actions: Sequence[int]) -> list[str]:
        return [_NAMES[state.action_to_string(seat, action)] for action in actions]

    def rules(self, seat: int, style: Style) -> str:
        if style == "compact":
            return (
                f"ultimate tic-tac-toe, boards and squares 1 2 3 / 4 5 6 / 7 8 9, 5/3 marks square 3 of board 5 and "
                f"sends to board 3, you are {_MARKS[seat]}\n"
            )
        return f"{_RULES}You play {_MARKS[seat]} and move {ORDER[seat]}.\n"

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        # three bands of three lines such as `x.. .o. ...`, then two lines with the player to move and the board
        view: str = state.observation_string(seat)
        rows = view.split()
        boards = split_boards(view)
        won = _describe_winners("".join(map(find_winner, boards)), style)
        if style == "compact":
            drawn = "".join([f"{i} {b[:3]}/{b[3:6]}/{b[6:]}\n" for i, b in enumerate(boards, start=1)])
            legal = ", ".join(self.moves(state, seat, state.legal_actions(seat)))
            return f"{drawn}{won}\nlegal {legal or 'none'}\n"
        turn = _describe_turn(state.current_player(), seat, rows[-1])
        bands = space_cells(view[:_BOARD_END].replace(" ", "|"), rows=9).split("\n\n ")
        return f"You are {_MARKS[seat]}{turn}. {won}. The boards:\n{_FULL.format(*bands)}"

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        # three bands of three lines such as `x.. .o. ...`, then two lines with the player to move and the board
        words = state.observation_string(seat).split()
        rows = ["".join(words[start : start + 3]) for start in range(0, 27, 3)]
        boards = [words[i] + words[i + 3] + words[i + 6] for i in _BOARDS]
        won = []
        for number, board in enumerate(boards):
            left, top = number % 3 * 3, number // 3 * 3
            line = next((line for line in _LINES if board[line[0]] != "." and len({board[i] for i in line}) == 1), ())
            won.append([(left + i % 3, top + i // 3) for i in line])
        last = [move for by, move in events if by >= 0 and "/" in move][-1:]
        drawn = draw_grid(rows, _DRAWN, places=_PLACES, blocks=3, last="".join(last), won=won)
        whole = [
            place._replace(name=f"board {place.name[0]}", width=3 * place.width, height=3 * place.height)
            for place in drawn.places
            if place.name.endswith("/1")
        ]
        turn = _describe_turn(state.current_player(), seat, words[-1]).removeprefix(", to move").removeprefix(". ")
        parts = [
            drawn._replace(places=(*whole, *drawn.places)),
            *([draw_note(f"{turn}.".lstrip(". "))] if turn else []),
        ]
        return Picture.from_parts(*parts, told=f"The nine boards, row by row from the top: {' '.join(rows)}")


def split_boards(view: str) -> list[str]:
    """Return the nine cells of each board from an engine view, which begins with three bands of three lines."""
    rows = view.split()
    return [rows[i] + rows[i + 3] + rows[i + 6] for i in _BOARDS]


@cache  # at most 19,683 boards
def find_winner(board: str) -> str:
    """Return the winner's mark for a board such as `x...o....`, `=` for a draw, or `.` for an open board."""
    for a, b, c in _LINES:
        if board[a] == board[b] == board[c] != ".":
            return board[a]
    return "." if "." in board else "="


@lru_cache(maxsize=_CACHE_SIZE)
def _describe_winners(winners: str, style: Style) -> str:
    """Describe who has won each of the nine boards."""
    x, o, drawn = [
        " ".join([str(i) for i, winner in enumerate(winners, start=1) if winner == mark]) or "none" for mark in "xo="
    ]
    if style == "compact":
        return f"won x {x} o {o} drawn {drawn}"
    return f"Boards won: {x} by x, {o} by o; drawn: {drawn}"


def _describe_turn(player: int, seat: int, forced: str) -> str:
    if player < 0:
        return ""
    who = ", to move. You" if player == seat else ". Your opponent"
    if forced == "any":
        return f"{who} must choose an unfinished board"
    return f"{who} must play in board {int(forced) + 1}"


game = make_openspiel_factory("ultimate_tic_tac_toe", lambda engine: UltimateTicTacToe())
