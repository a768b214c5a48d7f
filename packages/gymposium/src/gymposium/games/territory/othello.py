"""Othello in words, named as its players do: columns a … h, and row 1 at the top."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gymposium.games.openspiel.adapter import OpenSpielGame, engine_game
from gymposium.games.openspiel.boards import action_names
from gymposium.games.protocol import Style

if TYPE_CHECKING:
    import pyspiel

    from gymposium.plugins.specs import GameSpec

_MARKS = "xo"
_RULES = (
    "Othello on an 8 by 8 board. x and o take turns to place a disc of their own on an empty square; x moves first. "
    "A move must enclose at least one of the opponent's discs: from the new disc, in a straight line (across, down or "
    "diagonally), an unbroken run of the opponent's discs that ends at a disc of your own. All discs so enclosed, in "
    "every direction, become yours.\n"
    "A player who can enclose nothing must pass; pass is legal only then. The game ends when neither player can "
    "enclose anything, often with the board full. Whoever has more discs then wins; equal numbers are a draw.\n"
    "A square is named by its column (a to h, from the left) and its row (1 to 8, from the top): a1 is top left, h8 "
    "bottom right. An empty square is shown as a dot.\n"
)


class Othello:
    """Words for `othello`."""

    move_pattern = re.compile(r"[a-h][1-8]|pass")

    def __init__(self, engine: pyspiel.Game) -> None:
        self._names = action_names(engine)

    def move_names(self, engine: pyspiel.Game) -> Sequence[str]:
        return self._names

    def rules(self, seat: int, style: Style) -> str:
        if style == "compact":
            return f"othello, a move is a square or pass, row 1 at the top, you are {_MARKS[seat]}\n"
        order = "first" if seat == 0 else "second"
        return f"{_RULES}You play {_MARKS[seat]} and move {order}.\n"

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        # a line that tells whose turn it is, the columns, then rows such as `1 - - x o - - - - 1`
        board: str = state.observation_string(seat).partition("\n")[2].replace("-", ".")
        if style == "compact":
            rows = board.replace(" ", "").split("\n")
            legal = " ".join([self._names[action] for action in state.legal_actions(seat)])
            drawn = "\n".join([row[:-1] for row in rows[1:9]])
            return f"{drawn}\n {rows[0]}\nlegal {legal or 'none'}\n"
        turn = ", to move" if state.current_player() == seat else ""
        discs = f"Discs: x {board.count('x')}, o {board.count('o')}."
        drawn = "\n".join([row[:17] for row in board.split("\n")[:9]])
        return f"You are {_MARKS[seat]}{turn}. {discs} The board:\n{drawn}\n"


def game(spec: GameSpec, params: Mapping[str, Any]) -> OpenSpielGame:
    engine = engine_game("othello", params)
    return OpenSpielGame(spec, params, engine, Othello(engine))
