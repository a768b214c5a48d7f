"""Phantom tic-tac-toe as a text game: players find the opponent's marks only by trying squares."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyspiel

from gymposium.games.openspiel.adapter import make_openspiel_factory
from gymposium.games.openspiel.boards import ORDER, describe_turn, format_legal
from gymposium.games.pictures import Picture, draw_cross, draw_grid, draw_ring, find_line
from gymposium.games.protocol import Event, Style

_MARKS = "xo"
_SQUARES = [f"{column}{row}" for row in "321" for column in "abc"]  # the engine counts from the top left
_END = {1: "you win", 0: "it is a draw", -1: "you lose"}
_TAKEN = {
    "classical": "you are told that it is taken, and you try another one",
    "abrupt": "you are told that it is taken, and your turn is over",
}
_TAKEN_COMPACT = {"classical": "you try again", "abrupt": "your turn is lost"}
_TOLD = {
    ("classical", "reveal-nothing"): " You are not told how often your opponent tried.",
    ("abrupt", "reveal-nothing"): "",  # turns alternate, so both players' counts are known
    ("classical", "reveal-numturns"): " You are told each time that your opponent tries a square, not which one.",
    ("abrupt", "reveal-numturns"): " You are told each time that your opponent tries a square, not which one.",
}
_FULL = "You are {mark}{turn}. The board as you know it:\n3 {0} {1} {2}\n2 {3} {4} {5}\n1 {6} {7} {8}\n  a b c\n"
_COMPACT = "{0} {1} {2}\n{3} {4} {5}\n{6} {7} {8}\n"


_DRAWN = {"x": draw_cross(), "o": draw_ring()}


class PhantomTicTacToe:
    """Wording for `phantom_ttt`."""

    move_pattern = re.compile(r"[a-c][1-3]")
    names = _SQUARES

    def __init__(self, engine: pyspiel.Game, obstype: str, gameversion: str) -> None:
        self.obstype, self.gameversion = obstype, gameversion

    def rules(self, seat: int, style: Style) -> str:
        if style == "compact":
            unknown = ", ? is a try of your opponent" if self.obstype == "reveal-numturns" else ""
            return (
                f"phantom tic-tac-toe, rows 3 2 1, columns a b c, you are {_MARKS[seat]}, moves are squares with a "
                f"dot\non a taken square {_TAKEN_COMPACT[self.gameversion]}; tried: ! was taken{unknown}\n"
            )
        return (
            f"Phantom tic-tac-toe on a 3 by 3 board. x and o take turns to mark an empty square; x moves first. Three "
            f"of your marks in a row (across, down or diagonally) win. A full board without that is a draw.\n"
            f"You do not see where your opponent has marked. If you try a square that your opponent has marked, "
            f"{_TAKEN[self.gameversion]}.{_TOLD[self.gameversion, self.obstype]}\n"
            f"A square is named by its column (a, b, c) and its row (1, 2, 3): a3 is top left, b2 the centre. A dot "
            f"is a square that you know nothing about: it is empty, or your opponent has it.\n"
            f"You play {_MARKS[seat]} and move {ORDER[seat]}.\n"
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        # three rows, the total turn count if revealed, the turns
        rows = state.information_state_string(seat).split("\n")
        cells = "".join(rows[:3])
        mark = _MARKS[seat]
        over = state.is_terminal()
        tries = [turn.partition(",")[2] for turn in rows[-1].split()]  # `0,4` is seat 0 on b2, `1,?` seat 1 somewhere
        if style == "compact":
            past = " ".join([t if t == "?" else _SQUARES[int(t)] + "!" * (cells[int(t)] != mark) for t in tries])
            end = f"result {int(state.player_return(seat)):+d}\n" if over else ""
            return f"{_COMPACT.format(*cells)}tried {past or 'none'}\n{end}{format_legal(state, seat, self.names)}"
        board = _FULL.format(*cells, mark=mark, turn=describe_turn(state, seat))
        end = f"The match is over: {_END[int(state.player_return(seat))]}.\n" if over else ""
        if self.obstype == "reveal-numturns":
            past = ", ".join(["your opponent ?" if t == "?" else f"you {_describe_try(t, cells, mark)}" for t in tries])
            return f"{board}Turns so far: {past or 'none'}.\n{end}"
        return (
            f"{board}Your turns so far: {', '.join([_describe_try(t, cells, mark) for t in tries]) or 'none'}.\n{end}"
        )

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        rows = state.information_state_string(seat).split("\n")
        mine = [turn.partition(",")[2] for turn in rows[-1].split() if not turn.endswith("?")]
        last = _SQUARES[int(mine[-1])] if mine else ""
        won = find_line(rows[:3], 3)
        board = draw_grid(rows[:3], _DRAWN, row_names="321", column_names="abc", last=last, won=[won])
        return Picture.from_parts(
            board, told=f"The board as you know it, row by row from the top: {' '.join(rows[:3])}"
        )


def _describe_try(square: str, cells: str, mark: str) -> str:
    """Describe one of the seat's tries: its square, and whether it was taken."""
    cell = int(square)
    return _SQUARES[cell] if cells[cell] == mark else f"{_SQUARES[cell]} (taken)"


game = make_openspiel_factory("phantom_ttt", PhantomTicTacToe)
