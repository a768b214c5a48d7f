"""Dark hex as a text game. In this hex variant, players find the opponent's stones only by trying cells."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

import pyspiel

from gymposium.errors import NoSampler
from gymposium.games.hidden_boards.dark_hex_tries import draw_tries
from gymposium.games.openspiel.adapter import OpenSpielGame, OpenSpielMatch, make_openspiel_factory
from gymposium.games.openspiel.boards import (
    ORDER,
    Frame,
    build_row_pattern,
    describe_cells,
    describe_goals,
    describe_turn,
    draw_hex_board,
    format_legal,
    list_action_names,
    list_letters,
)
from gymposium.games.pictures import Picture, draw_note
from gymposium.games.protocol import Event, Style

_MARKS = "xo"
_ATTEMPTS = 300
"""Maximum number of attempts to sample an unfinished match."""
_TAKEN = {
    "cdh": "you are told that it is taken, and you try another one, until you have put a stone",
    "adh": "you are told that it is taken, and your turn is over",
}
_TAKEN_COMPACT = {"cdh": "you try again", "adh": "your turn is lost"}
_TOLD = {
    ("cdh", "reveal-nothing"): " You are not told how often your opponent tried.",
    ("adh", "reveal-nothing"): "",  # turns alternate, so both players' counts are known
    ("cdh", "reveal-numturns"): " You are told each time that your opponent tries a cell, not which one.",
    ("adh", "reveal-numturns"): " You are told each time that your opponent tries a cell, not which one.",
}


class DarkHex:
    """Wording for `dark_hex` on a board of any size, without the swap rule."""

    def __init__(self, engine: pyspiel.Game, num_rows: int, num_cols: int, obstype: str, gameversion: str) -> None:
        self.num_rows, self.num_cols = num_rows, num_cols
        self.obstype, self.gameversion = obstype, gameversion
        self.names = list_action_names(engine)
        self._columns = list_letters(num_cols)
        self.move_pattern = re.compile(f"[{self._columns}]{build_row_pattern(num_rows)}")
        self._frame = Frame(self._columns, range(1, num_rows + 1))
        self._goals = describe_goals(num_cols, num_rows)

    def rules(self, seat: int, style: Style) -> str:
        mine, theirs = self._goals[seat]
        if style == "compact":
            unknown = ", ? is a try of your opponent" if self.obstype == "reveal-numturns" else ""
            return (
                f"dark hex, a move is a cell with a dot, b2 touches b1 c1 a2 c2 a3 b3, you are {_MARKS[seat]} and "
                f"join {mine}, your opponent {theirs}\n"
                f"on a taken cell {_TAKEN_COMPACT[self.gameversion]}; tried: ! was taken{unknown}\n"
            )
        last = f"{self._columns[-1]}{self.num_rows}"
        # A board with two rows or columns lacks some cells of the first example.
        example = (
            "b2 touches b1 and c1 above, a2 and c2 beside it, a3 and b3 below"
            if self.num_rows > 2 and self.num_cols > 2
            else "b1 touches a1 beside it, a2 and b2 below, and a2 touches a1 and b1 above and b2 beside it"
        )
        return (
            f"Dark hex on a board of {self.num_rows} rows and {self.num_cols} columns of hexagonal cells. x and o take "
            f"turns to put a stone on an empty cell; x moves first. Stones never move. x wins with a chain of "
            f"touching x stones from {self._goals[0][0]}, o with one of o stones from {self._goals[0][1]}. There are "
            f"no draws.\n"
            f"You do not see your opponent's stones. If you try a cell on which your opponent has a stone, "
            f"{_TAKEN[self.gameversion]}.{_TOLD[self.gameversion, self.obstype]} Your opponent is not told what you "
            f"tried.\n"
            f"{describe_cells(self.num_cols, self.num_rows, cell='cell', row_1='top')}: a1 is the first cell of the "
            f"first row, "
            f"{last} the last of the last. Each row is shifted half a cell to the right of the row above it, so a cell "
            f"touches up to six others: {example}. A dot is a cell that you know nothing about: it is empty, or your "
            f"opponent has it.\n"
            f"You play {_MARKS[seat]}, move {ORDER[seat]} and join {mine}.\n"
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        view: list[str] = state.information_state_string(seat).split("\n")  # the rows, the count of tries, the tries
        rows, tries = view[: self.num_rows], view[-1].split()  # `0,4` is a try of seat 0, `1,?` a hidden one of seat 1
        cells, mark = "".join(rows), _MARKS[seat]
        tried = [turn.partition(",")[2] for turn in tries]
        over = state.is_terminal()
        if style == "compact":
            past = " ".join([t if t == "?" else self.names[int(t)] + "!" * (cells[int(t)] != mark) for t in tried])
            end = f"result {int(state.player_return(seat)):+d}\n" if over else ""
            legal = format_legal(state, seat, self.names)
            return f"{self._frame.render_compact(rows)}tried {past or 'none'}\n{end}{legal}"
        end = f"The match is over: you {'win' if state.player_return(seat) > 0 else 'lose'}.\n" if over else ""
        you = "you " if self.obstype == "reveal-numturns" else ""
        past = ", ".join(
            [
                "your opponent ?"
                if t == "?"
                else f"{you}{self.names[int(t)]}{'' if cells[int(t)] == mark else ' (taken)'}"
                for t in tried
            ]
        )
        whose = "Tries" if you else "Your tries"
        spaced = [" ".join(row) for row in rows]
        return (
            f"You are {mark}{describe_turn(state, seat)}. The board as you know "
            f"it:\n{self._frame.render_slanted(spaced)}"
            f"{whose} so far: {past or 'none'}.\n{end}"
        )

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        view = state.information_state_string(seat).split("\n")
        rows, mine = view[: self.num_rows], [turn for turn in view[-1].split() if not turn.endswith("?")]
        last = self.names[int(mine[-1].partition(",")[2])] if mine else ""
        board = draw_hex_board(rows, self._columns, last=last)
        told = f"The board as you know it, row by row from the top: {' '.join(rows)}"
        return Picture.from_parts(
            board, draw_note(f"You play {_MARKS[seat]} and join {self._goals[seat][0]}."), told=told
        )


class DarkHexGame(OpenSpielGame):
    """Dark hex with a sampler for unseen tries, and with views that hide the number of the opponent's tries."""

    wording: DarkHex

    def render_view(self, state: pyspiel.State, seat: int) -> str:
        # The engine's view contains both players' try counts even if the seat must not learn them (`dark_hex.cc`,
        # InformationStateString).
        board, _, tries = state.information_state_string(seat).rsplit("\n", 2)
        result = f"\nreturns {state.returns()}" if state.is_terminal() else ""
        return f"{board}\n{tries}{result}"

    def sample(self, match: OpenSpielMatch, seat: int, rng: random.Random) -> OpenSpielMatch:
        words = self.wording
        if match.to_move() != (seat,):
            raise NoSampler(
                f"{self.name} can sample worlds only for the seat to move, not for seat {seat}. Wait for its turn."
            )
        *rows, _, seen = match.state.information_state_string(seat).split("\n")
        cells, counts = "".join(rows), [len(run) // 4 for run in re.findall(r"(?:\d,\? )+", seen)]
        tries = [(cell, cells[cell] == _MARKS[seat]) for cell in map(int, re.findall(r",(\d+)", seen))]
        abrupt, counted = words.gameversion == "adh", words.obstype == "reveal-numturns"
        for _ in range(_ATTEMPTS):
            turns = iter(draw_tries(len(cells), seat, tries, counts if counted else None, abrupt, rng))
            state, events = self.start(), list[Event]()
            made = self._apply_tries(state, events, 1 - seat, next(turns)) if seat == 1 else True
            for cell, free in tries:
                made = made and self._apply_tries(state, events, seat, [cell])
                if free or abrupt:
                    made = made and self._apply_tries(state, events, 1 - seat, next(turns))
            if made:
                return OpenSpielMatch(self, state, events, None, rng)
        raise NoSampler(
            f"{self.name}: in all {_ATTEMPTS} worlds drawn, the other player had already won. Try again with another "
            "rng."
        )

    def _apply_tries(self, state: pyspiel.State, events: list[Event], seat: int, cells: Sequence[int]) -> bool:
        """Apply these tries and return whether the match continues."""
        for cell in cells:
            events.append(Event(seat, self._format_move(state, seat, cell)))
            state.apply_action(cell)
        return not state.is_terminal()


game = make_openspiel_factory("dark_hex", DarkHex, DarkHexGame)
