"""What the engine's board games have in common: their drawing of a board, and the names of squares."""

from __future__ import annotations

from collections.abc import Sequence

import pyspiel

from gymposium.games.protocol import Style


def spaced(board: str, rows: int) -> str:
    """An engine board such as `5oxo\\n4xox\\n…\\n abc\\n`, with a space between the squares."""
    if rows < 10:
        return board.replace("", " ").replace(" \n ", "\n").strip()
    width = len(str(rows))
    return "\n".join([f"{line[:width]} {' '.join(line[width:])}" for line in board.split("\n")[:-1]])


def any_of(rows: int) -> str:
    """A pattern for the row numbers 1 … rows."""
    return f"(?:{'|'.join(map(str, range(1, rows + 1)))})"


def letters(columns: int) -> str:
    """`abcde` for five columns."""
    return "abcdefghijklmnopqrstuvwxyz"[:columns]


def action_names(engine: pyspiel.Game) -> list[str]:
    """The engine's own name of every action, where it does not depend on the position."""
    state = engine.new_initial_state()
    return [state.action_to_string(0, action) for action in range(engine.num_distinct_actions())]


def position_of(state: pyspiel.State, seat: int, style: Style, *, mark: str, rows: int, names: Sequence[str]) -> str:
    """The board for a seat that plays `mark`; `names` are those of all actions."""
    board: str = state.observation_string(seat)
    if style == "compact":
        legal = " ".join([names[action] for action in state.legal_actions(seat)])
        return f"{board}legal {legal or 'none'}\n"
    turn = ", to move" if state.current_player() == seat else ""
    return f"You are {mark}{turn}. The board:\n{spaced(board, rows)}\n"
