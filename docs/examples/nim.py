"""Nim, the last stick wins: a whole game in one file.

gymposium --plugin nim.py play nim
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gymposium import GameSpec, Parameter, hookimpl
from gymposium.games.pictures import Picture, draw_hand
from gymposium.games.rules import Event, Style, make_game_factory


class Table(NamedTuple):
    """An immutable position. Moves create new positions."""

    left: int
    turn: int


class Nim:
    """Rules of nim with a number of sticks."""

    moves = ("take 1", "take 2", "take 3")
    utility_range = (-1.0, 1.0)

    def __init__(self, sticks: int) -> None:
        self.sticks = self.max_decisions = sticks
        self.tensor_shape = (sticks + 1,)

    def start(self) -> Table:
        return Table(left=self.sticks, turn=0)

    def to_move(self, table: Table) -> tuple[int, ...]:
        return (table.turn,) if table.left else ()

    def legal_moves(self, table: Table, seat: int) -> Sequence[str]:
        return self.moves[: table.left]

    def play(self, table: Table, moves: Mapping[int, str]) -> Table:
        taken = self.moves.index(moves[table.turn]) + 1
        return Table(table.left - taken, 1 - table.turn)

    def returns(self, table: Table) -> tuple[float, ...]:
        if table.left:
            return (0.0, 0.0)
        return (-1.0, 1.0) if table.turn == 0 else (1.0, -1.0)  # the seat to move next has lost

    def rules(self, seat: int, style: Style) -> str:
        if style == "compact":
            return "nim\n"
        return (
            f"Nim for two players. {self.sticks} sticks lie on the table. In turn, each player takes 1 to 3 of them. "
            f"Whoever takes the last stick wins.\nYou move {('first', 'second')[seat]}.\n"
        )

    def position(self, table: Table, seat: int, style: Style) -> str:
        return f"{table.left} left\n" if style == "compact" else f"Sticks left: {table.left}.\n"

    def draw_picture(self, table: Table, seat: int, events: Sequence[Event]) -> Picture:
        # a click on one of the last three sticks takes it and those behind it
        names = [f"take {count}" if count <= 3 else "" for count in range(table.left, 0, -1)]
        sticks = draw_hand(["|"] * table.left, "Sticks left", names=names)
        return Picture.from_parts(sticks, told=f"Sticks left: {table.left}")

    def tensor(self, table: Table, seat: int) -> Sequence[float]:
        return [float(table.left == count) for count in range(self.sticks + 1)]


game = make_game_factory(Nim)


@hookimpl
def gymposium_games() -> Iterable[GameSpec]:
    yield GameSpec(
        name="nim",
        title="Nim",
        summary="Take one to three sticks; the last one wins.",
        entry_point="nim:game",
        parameters=(Parameter(name="sticks", default=11, low=1, high=100, help="Sticks at the start."),),
        examples=({}, {"sticks": 4}),
        namespace="examples",
    )
