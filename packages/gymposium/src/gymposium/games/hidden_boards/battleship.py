"""Battleship as a text game.

Squares are named as in the board game: rows by letters from the top, columns by numbers."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pyspiel

from gymposium.errors import BadParameter
from gymposium.games.hidden_boards.battleship_fleets import Placement, Shot, draw_fleet
from gymposium.games.openspiel.adapter import OpenSpielGame, OpenSpielMatch, load_engine_game
from gymposium.games.openspiel.boards import format_legal
from gymposium.games.pictures import Picture, PicturePart, draw_disc, draw_grid, draw_note, draw_tile
from gymposium.games.protocol import Event, Style
from gymposium.plugins.specs import GameSpec

_ROWS = "ABCDEFGHIJ"  # battleship.cc allows ten rows and columns at most
_MARKS = {"W": "*", "H": "#", "S": "X"}
_RESULTS = {"W": "missed", "H": "hit", "S": "sank"}
_RESULTS_COMPACT = {"W": "", "H": "#", "S": "X"}


class _View(NamedTuple):
    """Parts of the engine's information state."""

    ships: list[Placement]
    shots: list[Shot]
    theirs: list[int]


_DRAWN = {
    **{str(size): draw_tile(str(size), "dark") for size in range(1, 10)},
    "*": draw_disc("one", radius=0.16),
    "#": draw_tile("#", "two", "square"),
    "X": draw_tile("X", "two", "square"),
}


class Battleship:
    """Wording for `battleship`."""

    def __init__(
        self,
        board_width: int,
        board_height: int,
        ship_sizes: str,
        num_shots: int,
        allow_repeated_shots: bool,
        loss_multiplier: float,
    ) -> None:
        self.width, self.height = board_width, board_height
        # the engine rejects more shots than squares if repeated shots are not allowed
        self.num_shots = num_shots if allow_repeated_shots else min(num_shots, board_width * board_height)
        self.sizes = [int(size) for size in ship_sizes.split("-")]
        self.repeats, self.loss_multiplier = allow_repeated_shots, loss_multiplier
        rows = _ROWS[:board_height]
        self.squares = [f"{row}{column}" for row in rows for column in range(1, board_width + 1)]
        self.names = [*self.squares, *(f"{s} {way}" for way in ("across", "down") for s in self.squares)]
        columns = "|".join(map(str, range(1, board_width + 1)))
        self.move_pattern = re.compile(f"[{rows}](?:{columns})(?: across| down)?")
        self._header = f"  {' '.join(map(str, range(1, board_width + 1)))}"
        self._parts: dict[str, tuple[str, Any]] = {}
        """Meaning of each part of the engine's view, by its text."""
        for square in range(len(self.squares)):
            place = "_".join(map(str, divmod(square, board_width)))
            self._parts[f"h_{place}"], self._parts[f"v_{place}"] = ("ship", (False, square)), ("ship", (True, square))
            self._parts[f"oppshot_{place}"] = ("theirs", square)
            for result in "WHS":
                self._parts[f"shot_{place}:{result}"] = ("shot", (square, result))

    def rules(self, seat: int, style: Style) -> str:
        last = f"{_ROWS[self.height - 1]}{self.width}"
        sizes = " ".join(map(str, self.sizes))
        if style == "compact":
            again = "any square, also again" if self.repeats else "a square that you have not shot at"
            return (
                f"battleship, squares A1 (top left) to {last}, letters are rows, ships {sizes} in this order, "
                f"placed like A1 across or A1 down from the first square, then {self.num_shots} shots each, {again}\n"
                f"in a row of the boards yours is left: 1-5 ship, # hit, * water; your shots right: * missed, # hit, "
                f"X sank; result is ships sunk - {self.loss_multiplier:g} x ships lost; you move "
                f"{('first', 'second')[seat]}\n"
            )
        again = (
            "You may shoot at a square again; it does no further damage, and you are told that it sank a ship if the "
            "ship there is sunk by then."
            if self.repeats
            else "Nobody shoots at the same square twice."
        )
        return (
            f"Battleship. Each player has a board of {self.height} rows and {self.width} columns that the other does "
            f"not see. First the players take turns to place their ships, one at a time, of these lengths in this "
            f"order: {sizes}. A ship lies in a straight line, across or down; ships do not overlap, but may touch.\n"
            f"Then they take turns to shoot at a square of the other's board, at most {self.num_shots} times each. A "
            f"ship is sunk once all its squares are hit. After a shot you are told whether it missed, hit a ship, or "
            f"sank one (hit its last square), not which ship. {again} The match is over as soon as all ships of a "
            f"player are sunk, or when the shots are used up.\n"
            f"Your result is the number of ships that you sank, less {self._describe_loss()}.\n"
            f"A square is named by its row (A to {last[0]}, from the top) and its column (1 to {self.width}, from the "
            f"left): A1 is top left, {last} bottom right. To place a ship, name its leftmost or topmost square and "
            f"the way that it lies from there: A1 across for one that goes right, A1 down for one that goes down. To "
            f"shoot, name the square: A1.\n"
            f"You place and shoot {('first', 'second')[seat]}.\n"
        )

    def _describe_loss(self) -> str:
        if self.loss_multiplier == 1:
            return "the number that you lost"
        return f"{self.loss_multiplier:g} times the number that you lost"

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        view = self.parse_view(state.information_state_string(seat))
        own, shots = self._draw_boards(view)
        width, over, mine = self.width, state.is_terminal(), state.current_player() == seat
        rows = range(self.height)
        result = f"{state.player_return(seat):+g}"
        sizes, names = self.sizes, self.names
        ships = [
            (sizes[number], names[square + len(self.squares) * (2 if down else 1)])
            for number, (down, square) in enumerate(view.ships)
        ]
        placing = len(view.ships) < len(sizes)
        if style == "compact":
            now = "over" if over else "wait" if not mine else f"place {sizes[len(ships)]}" if placing else "shoot"
            drawn = "\n".join(
                [
                    f"{_ROWS[r]} {own[r * width : r * width + width]} {shots[r * width : r * width + width]}"
                    for r in rows
                ]
            )
            placed = ", ".join([f"{size} {where}" for size, where in ships])
            shown = " ".join([names[square] + _RESULTS_COMPACT[what] for square, what in view.shots])
            theirs = " ".join([names[square] for square in view.theirs])
            end = f"result {result}\n" if over else ""
            return (
                f"{now}\nships {placed or 'none'}\n{drawn}\nyour shots {shown or 'none'}\n"
                f"their shots {theirs or 'none'}\n{end}{format_legal(state, seat, names, ', ')}"
            )
        if over:
            now = "The match is over."
        elif not mine:
            now = "Your opponent is to move."
        elif placing:
            now = f"You are to place a ship of length {sizes[len(ships)]} (ship {len(ships) + 1} of {len(sizes)})."
        else:
            now = f"You are to shoot (shot {len(view.shots) + 1} of {self.num_shots})."
        placed = ", ".join([f"{size} at {where}" for size, where in ships])
        lines = [
            now,
            f"Your ships: {placed or 'none yet'}.",
            "Your board (numbers: ships, #: hit, *: shot in the water):",
        ]
        lines.append(self._header)
        lines += [f"{_ROWS[r]} {' '.join(own[r * width : r * width + width])}" for r in rows]
        lines += ["Your shots (*: missed, #: hit, X: sank a ship):", self._header]
        lines += [f"{_ROWS[r]} {' '.join(shots[r * width : r * width + width])}" for r in rows]
        shown = ", ".join([f"{names[square]} {_RESULTS[what]}" for square, what in view.shots])
        lines.append(f"Your shots in order: {shown or 'none'}.")
        theirs = ", ".join([names[square] for square in view.theirs])
        lines.append(f"Your opponent's shots in order: {theirs or 'none'}.")
        if over:
            lines.append(f"Your result: {result}.")
        return "\n".join(lines) + "\n"

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        view = self.parse_view(state.information_state_string(seat))
        own, shots = self._draw_boards(view)
        width, names = self.width, self.squares
        starts = range(0, len(names), width)
        places = [names[start : start + width] for start in starts]
        nowhere = [[""] * width] * self.height
        placing = len(view.ships) < len(self.sizes)
        columns = [str(column) for column in range(1, width + 1)]

        def draw_board(squares: str, named: Sequence[Sequence[str]], last: Sequence[int]) -> PicturePart:
            rows = [squares[start : start + width] for start in starts]
            marked = [(square % width, square // width) for square in last]
            return draw_grid(
                rows, _DRAWN, row_names=_ROWS[: self.height], column_names=columns, places=named, last=marked, most=280
            )

        return Picture.from_parts(
            draw_note("Your shots: * missed, # hit, X sank a ship"),
            draw_board(shots, nowhere if placing else places, [square for square, _ in view.shots[-1:]]),
            draw_note("Your ships"),
            draw_board(own, places if placing else nowhere, view.theirs[-1:]),
            told=f"Your shots, row by row: {shots}; your board: {own}",
        )

    def parse_view(self, view: str) -> _View:
        """Parse an information state such as `T=13 /h_2_5/v_1_1/shot_2_6:W/oppshot_1_2`."""
        values: dict[str, list[Any]] = {"ship": [], "shot": [], "theirs": []}
        parts = self._parts
        for part in view.split("/")[1:]:
            kind, value = parts[part]
            values[kind].append(value)
        return _View(values["ship"], values["shot"], values["theirs"])

    def _draw_boards(self, view: _View) -> tuple[str, str]:
        """Return the seat's board and its shots, as a text with one character per square."""
        own, shots = ["."] * len(self.squares), ["."] * len(self.squares)
        for size, (down, square) in zip(self.sizes, view.ships, strict=False):
            step = self.width if down else 1
            own[square : square + size * step : step] = str(size) * size
        for square in view.theirs:
            own[square] = "*" if own[square] in ".*" else "#"
        for square, result in view.shots:
            shots[square] = _MARKS[result]
        return "".join(own), "".join(shots)


class BattleshipGame(OpenSpielGame):
    """Battleship with a sampler of the opponent's fleet."""

    wording: Battleship

    def __init__(self, spec: GameSpec, params: Mapping[str, Any]) -> None:
        words = Battleship(**params)
        squares, fleet = len(words.squares), sum(words.sizes)
        if 5 * fleet > 2 * squares:
            raise BadParameter(
                f"ship_sizes={params['ship_sizes']} covers {fleet} squares, more than two fifths of a "
                f"{words.width} by {words.height} board. Enlarge the board, or choose a smaller fleet."
            )
        engine = {
            **params,
            "num_shots": words.num_shots,
            "ship_sizes": f"[{';'.join(map(str, words.sizes))}]",
            "ship_values": f"[{';'.join('1' for _ in words.sizes)}]",
        }
        if words.loss_multiplier != 1:
            spec = replace(spec, utility="general_sum")
        super().__init__(spec, params, load_engine_game("battleship", engine), words)

    def sample(self, match: OpenSpielMatch, seat: int, rng: random.Random) -> OpenSpielMatch:
        words, other = self.wording, 1 - seat
        history = match.state.history()
        placed = min(len(history), 2 * len(words.sizes))
        shots = words.parse_view(match.state.information_state_string(seat)).shots
        sizes = words.sizes[: len(range(other, placed, 2))]
        squares = len(words.squares)
        while True:
            state = self.start()
            events = match.events.copy()
            fleet = iter(draw_fleet(words.width, words.height, sizes, shots, rng))
            for index, action in enumerate(history):
                if index < placed and index % 2 == other:
                    down, square = next(fleet)
                    action = square + squares * (2 if down else 1)
                    events[index] = Event(other, words.names[action])
                    if action not in state.legal_actions():  # no space is left for a later ship
                        break
                state.apply_action(action)
            else:
                return OpenSpielMatch(self, state, events, None, rng)


game = BattleshipGame
