"""Frozen lake: cross slippery ice to the goal without falling into a hole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from gymposium.errors import BadParameter
from gymposium.games.pictures import Picture, draw_disc, draw_grid, draw_note, draw_tile
from gymposium.games.rules import CHANCE, Event, Style, make_game_factory
from gymposium.util.streams import Draw, stream
from gymposium.util.visible import quantity
from gymposium_puzzles.puzzle import NUMBERS

MOVES = ("left", "down", "right", "up")
"""The moves. A slip goes to a neighbor in this order, which is a turn by 90 degrees."""
_STEPS = {"left": (0, -1), "down": (1, 0), "right": (0, 1), "up": (-1, 0)}
START, ICE, HOLE, GOAL = "SFHG"
_FROZEN = 0.8
"""Probability that a square of a random lake is frozen."""
CLASSIC = {
    4: "SFFFFHFHFFFHHFFG",
    8: "SFFFFFFFFFFFFFFFFFFHFFFFFFFFFHFFFFFHFFFFFHHFFFHFFHFFHFHFFFFHFFFG",
}
"""Gymnasium's lakes, row by row."""


class Walk(NamedTuple):
    """A position."""

    thousands: int | None
    """First part of the lake's number, between the two chance events."""
    lake: str
    """The squares, row by row; empty before the lake is drawn."""
    at: int
    made: int
    """Number of moves made."""
    wanted: str | None
    """The move whose direction chance decides."""


def step(lake: str, at: int, move: str) -> int:
    """Return the square that a step leads to. The edge of the lake stops it."""
    size = int(len(lake) ** 0.5)
    row, column = divmod(at, size)
    down, right = _STEPS[move]
    return max(0, min(size - 1, row + down)) * size + max(0, min(size - 1, column + right))


def list_slips(move: str, *, is_slippery: bool) -> tuple[str, ...]:
    """Return the equally likely directions of a move."""
    place = MOVES.index(move)
    return (MOVES[place - 1], move, MOVES[(place + 1) % 4]) if is_slippery else (move,)


@lru_cache(maxsize=256)
def compute_values(lake: str, turns: int, is_slippery: bool) -> tuple[tuple[float, ...], ...]:
    """Return the probability of reaching the goal from each square with optimal play, by number of moves left."""
    values = [tuple(float(square == GOAL) for square in lake)]
    for _ in range(turns):
        last = values[-1]
        values.append(
            tuple(
                last[at]
                if square in (HOLE, GOAL)
                else max(_average(lake, at, move, last, is_slippery) for move in MOVES)
                for at, square in enumerate(lake)
            )
        )
    return tuple(values)


def _average(lake: str, at: int, move: str, values: Sequence[float], is_slippery: bool) -> float:
    slips = list_slips(move, is_slippery=is_slippery)
    return sum(values[step(lake, at, slip)] for slip in slips) / len(slips)


@lru_cache(maxsize=4096)
def make_lake(number: int, size: int) -> str:
    """Return a random lake with a path from the start, top left, to the goal, bottom right."""
    draw = Draw(stream(number, "frozen lake", size))
    while True:
        squares = [ICE if draw.chance(_FROZEN) else HOLE for _ in range(size * size)]
        lake = START + "".join(squares[1:-1]) + GOAL
        if compute_values(lake, size * size, False)[-1][0] > 0:
            return lake


class FrozenLake:
    """Rules of frozen lake. The solver computes the best move for the number of moves left (value iteration)."""

    moves = MOVES
    utility_range = (0.0, 1.0)

    def __init__(self, size: int, layout: Literal["random", "classic"], slippery: bool, turns: int) -> None:
        if layout == "classic" and size not in CLASSIC:
            raise BadParameter(f"size={size}: layout=classic has the sizes 4 and 8.")
        self.size, self.layout, self.slippery = size, layout, slippery
        self.turns = self.max_decisions = turns

    def start(self) -> Walk:
        return Walk(None, CLASSIC[self.size] if self.layout == "classic" else "", 0, 0, None)

    def to_move(self, walk: Walk) -> tuple[int, ...]:
        if not walk.lake or walk.wanted is not None:
            return (CHANCE,)
        return () if walk.lake[walk.at] in (HOLE, GOAL) or walk.made >= self.turns else (0,)

    def chance(self, walk: Walk) -> Mapping[str, float]:
        if walk.wanted is None:
            return NUMBERS
        return dict.fromkeys(list_slips(walk.wanted, is_slippery=self.slippery), 1.0)

    def legal_moves(self, walk: Walk, seat: int) -> Sequence[str]:
        return MOVES

    def play(self, walk: Walk, moves: Mapping[int, str]) -> Walk:
        if CHANCE not in moves:
            return walk._replace(wanted=moves[0], made=walk.made + 1)
        outcome = moves[CHANCE]
        if walk.wanted is not None:
            return walk._replace(at=step(walk.lake, walk.at, outcome), wanted=None)
        if walk.thousands is None:
            return walk._replace(thousands=int(outcome))
        return walk._replace(thousands=None, lake=make_lake(1000 * walk.thousands + int(outcome), self.size))

    def returns(self, walk: Walk) -> tuple[float, ...]:
        return (float(bool(walk.lake) and walk.lake[walk.at] == GOAL),)

    def solve(self, walk: Walk) -> str:
        """Return the move that reaches the goal most often."""
        values = compute_values(walk.lake, self.turns, self.slippery)[self.turns - walk.made - 1]
        return max(MOVES, key=lambda move: _average(walk.lake, walk.at, move, values, self.slippery))

    def rules(self, seat: int, style: Style) -> str:
        if style == "compact":
            return f"frozen lake, {'slippery, ' if self.slippery else ''}{quantity(self.turns, 'move')}\n"
        slips = (
            "The ice is slippery: a move goes in its direction or in one of the two directions at right angles to it, "
            "each with probability 1/3."
            if self.slippery
            else "The ice is not slippery."
        )
        return (
            f"A frozen lake of {self.size} rows and {self.size} columns. P is you, F is frozen, H is a hole and G the "
            f"goal. {slips} At the edge of the lake you stay where you are. You score 1 if you reach the goal, "
            f"otherwise 0. A fall into a hole ends the game. You have {quantity(self.turns, 'move')}.\n"
        )

    def position(self, walk: Walk, seat: int, style: Style) -> str:
        left = self.turns - walk.made
        board = "".join(f"{' '.join(row)}\n" for row in self._list_rows(walk))
        return f"{board}left {left}\n" if style == "compact" else f"{board}Moves left: {left}.\n"

    def draw_picture(self, walk: Walk, seat: int, events: Sequence[Event]) -> Picture:
        rows = self._list_rows(walk)
        if not rows:
            return Picture.from_parts(draw_note("Frozen lake"), told="Frozen lake")
        looks = {HOLE: draw_tile("", "black", "ink"), GOAL: draw_tile("goal", "mark", "ink"), "P": draw_disc("two")}
        board = draw_grid([[square if square in looks else "." for square in row] for row in rows], looks)
        note = draw_note(f"Moves left: {self.turns - walk.made}")
        return Picture.from_parts(board, note, told=f"The lake, row by row: {'; '.join(map(' '.join, rows))}")

    def _list_rows(self, walk: Walk) -> list[list[str]]:
        squares = [*walk.lake.replace(START, ICE)]
        if squares:
            squares[walk.at] = "P"
        return [squares[first : first + self.size] for first in range(0, len(squares), self.size)]


game = make_game_factory(FrozenLake)
