"""Lines of Action as a text game (Claude Soucie, 1969). Squares are named as on a chess board. x moves first."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyspiel

from gymposium.games.openspiel.adapter import make_openspiel_factory
from gymposium.games.openspiel.boards import (
    ORDER,
    OpenBoardGame,
    describe_cells_and_corners,
    describe_turn,
    draw_checkered,
    format_legal,
    list_action_names,
    space_cells,
    split_rows,
)
from gymposium.games.pictures import Picture, draw_disc
from gymposium.games.protocol import Event, Style

_MARKS = "xo"
_STARTS = ("the top and the bottom row", "the leftmost and the rightmost column")
BOARD_LENGTH = 90
"""Length in characters of the board in the engine's view: eight rows and a line of column names."""
SQUARE_INDICES = [10 * (7 - row) + 1 + column for row in range(8) for column in range(8)]
"""Index of each square in the view. Squares are ordered from a1 to h1, then up to h8."""


_DRAWN = {"x": draw_disc("one"), "o": draw_disc("two")}


class LinesOfAction:
    """Wording for `lines_of_action`."""

    move_pattern = re.compile("[a-h][1-8]" * 2)
    names = None

    def __init__(self, engine: pyspiel.Game, max_game_length: int) -> None:
        self.max_game_length = max_game_length
        # The engine has a plain action and a capture for each step: b1-b3 and b1xb3. The piece on the target square
        # decides which one is legal, so both have the same name.
        self.steps = [name[:2] + name[3:] for name in list_action_names(engine)]

    def moves(self, state: pyspiel.State, seat: int, actions: Sequence[int]) -> list[str]:
        return [self.steps[action] for action in actions]

    def rules(self, seat: int, style: Style) -> str:
        mark, last = _MARKS[seat], self.max_game_length
        if style == "compact":
            return (
                f"lines of action, row 1 at the bottom, a move is from and to, it is a draw when a position comes back "
                f"or after {last} moves, you are {mark}\n"
            )
        return (
            f"Lines of Action on a board of 8 rows and 8 columns. At the start x has 12 pieces, on the middle six "
            f"squares of {_STARTS[0]}, and o has 12, on those of {_STARTS[1]}. The players take turns to move one of "
            f"their own pieces; x moves first.\n"
            f"A piece moves in a straight line (across, up, down or diagonally), exactly as many squares as there are "
            f"pieces on the whole line along which it moves, from edge to edge: pieces of both players, itself "
            f"included. It may jump over pieces of its own side but not over the opponent's. It ends on an empty "
            f"square or on an opponent's piece, which is then removed, never on a piece of its own side.\n"
            f"Your aim is to have all your pieces on the board in one group, each touching the next across, down or "
            f"diagonally; a single piece left is such a group too. Whoever has that after a move, their own or the "
            f"opponent's, wins; if one move does it for both players, the player who moved wins. A player who cannot "
            f"move loses.\n"
            f"The game is a draw as soon as a move brings back a position of the pieces that was on the board before, "
            f"no matter whose turn it then was. It is a draw, too, after {last} moves, both players' counted, even if "
            f"the last of them joins a player's pieces.\n"
            f"{describe_cells_and_corners(8, 8)}. A move is written as the square that the piece leaves and the "
            f"square that "
            f"it goes to, whether or not it captures: b1b3. An empty square is shown as a dot.\n"
            f"You play {mark} and move {ORDER[seat]}.\n"
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        board = state.observation_string(seat)[:BOARD_LENGTH]
        moves, player = state.move_number(), state.current_player()
        drawing = [self.steps[action] for action in find_repetitions(state, board)] if player == seat else []
        if style == "compact":
            draws = f"draws {' '.join(drawing)}\n" if drawing else ""
            count = f"over after {moves}" if player < 0 else f"move {moves + 1}"
            return f"{board}{count}\n{draws}{format_legal(state, seat, self.steps)}"
        if player < 0:
            head = f"You are {_MARKS[seat]}. The game is over after {moves} moves."
        else:
            turn = describe_turn(state, seat)
            head = f"You are {_MARKS[seat]}{turn}. Move {moves + 1} of at most {self.max_game_length}."
        draws = f"A draw at once, by an earlier position: {', '.join(drawing)}.\n" if drawing else ""
        return f"{head} The board:\n{space_cells(board, rows=8)}\n{draws}"

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        rows = split_rows(state.observation_string(seat), 8)
        return draw_checkered(rows, _DRAWN, events)


def _list_quiet_actions(state: pyspiel.State) -> list[int]:
    """Return the actions since the last capture, latest first.

    Positions before a capture had more pieces, so they cannot recur."""
    steps = []
    for action in reversed(state.history()):
        if action & 1:  # the lowest bit of an action marks a capture (lines_of_action.cc)
            break
        steps.append(action)
    return steps


def find_repetitions(state: pyspiel.State, board: str) -> list[int]:
    """Return the legal actions that repeat an earlier board."""
    mover = state.current_player()
    mine = _MARKS[mover]
    repeating: set[int] = set()
    changed: dict[int, str] = {}
    for action in _list_quiet_actions(state):  # go back in time, tracking the difference from the current position
        mover = 1 - mover
        for square, piece in ((action >> 7, _MARKS[mover]), (action >> 1 & 63, ".")):
            if board[SQUARE_INDICES[square]] == piece:
                changed.pop(square, None)
            else:
                changed[square] = piece
        if len(changed) == 2:
            squares = {piece: square for square, piece in changed.items()}
            if squares.keys() == {".", mine}:  # exactly one piece of the mover is on another square
                repeating.add(squares["."] << 7 | squares[mine] << 1)
    return [action for action in state.legal_actions() if action in repeating]


class LinesOfActionGame(OpenBoardGame):
    """Lines of Action with facts that the engine's view omits: the number of moves and positions that must not recur.

    The tensor has the engine's planes for x, o and empty squares. A further plane is all 0 if x is to move, or all 1 if
    o is."""

    def render_view(self, state: pyspiel.State, seat: int) -> str:
        return f"{state.observation_string(seat)}\nMoves: {state.move_number()}\nSteps: {_list_quiet_actions(state)}"


game = make_openspiel_factory("lines_of_action", LinesOfAction, LinesOfActionGame)
