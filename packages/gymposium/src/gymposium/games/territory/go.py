"""Go as a text game on boards of any size. Points are named as in GTP: columns A … T without I, row 1 at the bottom."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pyspiel

from gymposium.errors import BadParameter
from gymposium.games.openspiel.adapter import OpenSpielGame, load_engine_game
from gymposium.games.openspiel.boards import ORDER, Frame, build_row_pattern, format_legal
from gymposium.games.pictures import Picture, draw_disc, draw_grid, draw_note, find_last_turn
from gymposium.games.protocol import Event, Style
from gymposium.plugins.specs import GameSpec

_MARKS = "XO"
_COLORS = ("black", "white")
_COLUMNS = "ABCDEFGHJKLMNOPQRST"


_STONES = {"X": draw_disc("black"), "O": draw_disc("white")}


class Go:
    """Wording for `go`: area scoring, no suicide, simple ko, and a draw if a position recurs (go.cc)."""

    def __init__(self, engine: pyspiel.Game, longer: pyspiel.Game, board_size: int, komi: float) -> None:
        self.board_size, self.komi = board_size, komi
        self.limit: int = engine.max_game_length()
        self._longer = longer
        """The same game with a move limit one higher, to detect repetitions on the last move."""
        self._columns = _COLUMNS[:board_size]
        rows = range(1, board_size + 1)
        self.names = [*(f"{column}{row}" for row in rows for column in self._columns), "pass"]
        self._pass = board_size * board_size
        self.move_pattern = re.compile(f"[{self._columns}]{build_row_pattern(board_size)}|pass")
        self._frame = Frame(self._columns, range(board_size, 0, -1))

    def rules(self, seat: int, style: Style) -> str:
        size, last = self.board_size, self._columns[-1]
        if style == "compact":
            return (
                f"go, a move is a point or pass, row 1 at the bottom, area scoring, komi {self.komi:.15g} for O, "
                f"a repeated position is a draw, you are {_MARKS[seat]}\n"
            )
        columns = f"A to {last} from the left" + (", without I" if last > "I" else "")
        if self.komi:
            komi = f"{abs(self.komi):.15g} points are added to {'O' if self.komi > 0 else 'X'}'s count (komi). "
        else:
            komi = "No points are added to either count (no komi). "
        return (
            f"Go on a board of {size} by {size} points, empty at the start. X (black) and O (white) take turns to "
            f"place a stone of their own on an empty point or to pass; X moves first. Stones never move, but they can "
            f"be captured. Points next to each other left, right, up or down are neighbours. Stones of one colour that "
            f"are joined by neighbours form a chain; the empty neighbours of a chain are its liberties. A stone placed "
            f"on the last liberty of an opponent's chain removes that whole chain. A move after which the stone's own "
            f"chain would have no liberty is not allowed, unless it captures.\n"
            f"Ko: if a stone has just captured exactly one stone, stands alone, and has no other liberty than the "
            f"point that it emptied, the next move may not be to that point. If a stone placed makes the whole board "
            f"look as it did at any time before, the game ends at once in a draw.\n"
            f"The game ends when both players pass, one after the other, or after {self.limit} moves in all, passes "
            f"included. Then the area is counted: a player's stones on the board, and the empty points from which, "
            f"going from empty neighbour to empty neighbour, only stones of that player are met. No stone is taken off "
            f"as dead before that: what is not captured counts. {komi}The greater count wins; equal counts are a "
            f"draw.\n"
            f"A point is named by its column ({columns}) and its row (1 to {size} from the bottom): A1 is bottom left, "
            f"{last}{size} top right. An empty point is shown as a dot.\n"
            f"You play {_MARKS[seat]} ({_COLORS[seat]}) and move {ORDER[seat]}.\n"
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        # a line with komi and turn, an empty line, rows such as ` 9 +++XO++++`, and the columns
        board: str = state.observation_string(seat)
        rows = [line[3:] for line in board.replace("+", ".").split("\n")[2 : self.board_size + 2]]
        past = state.history()
        last = f"{_MARKS[1 - len(past) % 2]} {self.names[past[-1]]}" if past else ""
        repeating = " ".join([self.names[action] for action in self.find_repetitions(state, board)])
        if style == "compact":
            number = f"moves {len(past)} of {self.limit}" + (f", last {last}" if last else "")
            repeats = f"repeats a position {repeating}\n" if repeating else ""
            return f"{self._frame.render_compact(rows)}{number}\n{repeats}{format_legal(state, seat, self.names)}"
        mine = state.current_player() == seat
        head = (
            f"You are {_MARKS[seat]}{', to move' if mine else ''}. {len(past)} of at most {self.limit} moves are played"
        )
        head += f", the last {last}." if last else "."
        if state.is_terminal():
            head += " The game is over."
        elif past and past[-1] == self._pass:
            head += f" If {'you pass' if mine else f'{_MARKS[1 - seat]} passes'} too, the game ends."
        repeats = f"Moves that would bring back an earlier position, a draw: {repeating}.\n" if repeating else ""
        return f"{head} The board:\n{self._frame.render_full(rows)}{repeats}"

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        size = self.board_size
        rows = [line[3:] for line in state.observation_string(seat).split("\n")[2 : size + 2]]
        numbers = [str(row) for row in range(size, 0, -1)]
        last = find_last_turn(events)
        board = draw_grid(rows, _STONES, row_names=numbers, column_names=self._columns, crossings=True, last=last)
        return Picture.from_parts(
            board,
            *([draw_note("The last move was a pass.")] if last.endswith("pass") else []),
            told=f"The board, row by row from the top: {' '.join(rows)}",
        )

    def find_repetitions(self, state: pyspiel.State, board: str) -> list[int]:
        """Return the moves that would repeat an earlier position. `board` is the engine's text."""
        past: list[int] = state.history()
        mine = past[-2::-2]
        # A recurring earlier position held all the mover's current stones. So the mover's latest stone was already on
        # the board then, unless it was a pass or was captured and the mover has played on the previous move's point.
        if not mine or (mine[0] != self._pass and mine[0] not in mine[1:] and self._has_stone(board, mine[0])):
            return []
        again = set(mine).intersection(state.legal_actions()) - {self._pass}
        if again and len(past) + 1 == self.limit:  # every move ends the game now; a longer game detects repetition
            state = self._longer.new_initial_state()
            for action in past:
                state.apply_action(action)
        return [action for action in sorted(again) if state.child(action).is_terminal()]

    def _has_stone(self, board: str, action: int) -> bool:
        row, column = divmod(action, self.board_size)
        return board.split("\n")[self.board_size + 1 - row][3 + column] != "+"


class GoGame(OpenSpielGame):
    """Go with facts that the engine's board omits.

    These are the last move, the moves barred by ko, and the moves that repeat a position."""

    wording: Go

    def render_view(self, state: pyspiel.State, seat: int) -> str:
        board: str = state.observation_string(seat)
        # ko bars at most one point, and the last move shows which
        legal = len(state.legal_actions())
        return f"{board}{state.history()[-1:]} {legal} {self.wording.find_repetitions(state, board)}"


def game(spec: GameSpec, params: Mapping[str, Any]) -> GoGame:
    others = {name: value for name, value in params.items() if name != "max_game_length"}
    limit: int = params["max_game_length"] or 2 * params["board_size"] ** 2
    if limit == 1:  # the engine checks for the end only from the second move on
        raise BadParameter("max_game_length=1: must be 2 or more, or 0 for twice the number of points.")
    engine = load_engine_game("go", {**others, "max_game_length": limit})
    longer = load_engine_game("go", {**others, "max_game_length": limit + 1})
    return GoGame(spec, params, engine, Go(engine, longer, **others))
