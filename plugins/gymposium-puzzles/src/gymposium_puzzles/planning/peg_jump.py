"""Peg jump: jump over pegs on a triangular board until one is left."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from gymposium.games.pictures import Picture, draw_disc, draw_note, draw_points, find_last_turn
from gymposium.games.rules import Event, Style, make_game_factory
from gymposium.util.streams import Draw
from gymposium_puzzles.puzzle import Attempt, Puzzle

_STEPS = ((0, 1), (1, 0), (1, 1), (0, -1), (-1, 0), (-1, -1))
"""Row and column steps to the six neighbors of a hole."""
Jump = tuple[int, int, int]
"""Bits of the holes where a peg starts, is jumped over, and lands."""


@cache
def list_jumps(side: int) -> dict[str, Jump]:
    """Return all jumps of a triangle with this many holes per side, by name."""
    numbers = {(row, column): row * (row + 1) // 2 + column for row in range(side) for column in range(row + 1)}
    jumps = {}
    for (row, column), start in numbers.items():
        for down, right in _STEPS:
            over = numbers.get((row + down, column + right))
            land = numbers.get((row + 2 * down, column + 2 * right))
            if over is not None and land is not None:
                jumps[f"{start + 1} to {land + 1}"] = (1 << start, 1 << over, 1 << land)
    return jumps


@cache
def find_solution(pegs: int, side: int) -> str | None:
    """Return the first jump of a way to leave one peg; None if there is none, or only one peg."""
    for name, jump in list_jumps(side).items():
        if _can_jump(pegs, jump):
            after = pegs ^ sum(jump)
            if after & (after - 1) == 0 or find_solution(after, side) is not None:
                return name
    return None


def _can_jump(pegs: int, jump: Jump) -> bool:
    start, over, land = jump
    return bool(pegs & start and pegs & over and not pegs & land)


class PegJump(Puzzle[int]):
    """Rules of peg jump. A position has a bit for each hole with a peg.

    An instance is made backwards from a single peg, so it has a solution. The solver searches all jumps."""

    name = "peg jump"

    def __init__(self, side: int, pegs: int) -> None:
        self.side, self.pegs, self.holes = side, pegs, side * (side + 1) // 2
        super().__init__(pegs - 1)
        self.jumps = list_jumps(side)
        self.moves = tuple(self.jumps)

    def generate(self, draw: Draw) -> int:
        while True:
            pegs = 1 << draw.below(self.holes)
            for _ in range(self.pegs - 1):
                # a jump backwards: the landing peg returns, and the peg that it jumped over comes back
                back = [jump for jump in self.jumps.values() if _can_jump(pegs ^ sum(jump), jump)]
                if not back:
                    break
                pegs ^= sum(draw.pick(back))
            else:
                return pegs

    def list_moves(self, position: int) -> Sequence[str]:
        return [name for name, jump in self.jumps.items() if _can_jump(position, jump)]

    def step(self, position: int, move: str) -> int:
        return position ^ sum(self.jumps[move])

    def is_solved(self, position: int) -> bool:
        return position.bit_count() == 1

    def describe(self, position: int, style: Style) -> str:
        rows = self._list_rows(position)
        width = len(str(self.holes))
        lines = ["  ".join(f"{number + 1:>{width}}{'*' if peg else '.'}" for number, peg in row) for row in rows]
        longest = len(lines[-1])
        return "".join(f"{' ' * ((longest - len(line)) // 2)}{line}\n" for line in lines)

    def explain(self) -> str:
        return (
            f"Peg jump on a triangle of {self.holes} holes, numbered row by row from the top. A star is a peg and a "
            "dot an empty hole. A peg jumps in a straight line over a neighboring peg into the empty hole behind it, "
            "and the peg between them is removed. You score 1 if a single peg is left, otherwise 0."
        )

    def choose(self, position: int) -> str:
        return find_solution(position, self.side) or self.list_moves(position)[0]

    def draw_picture(self, attempt: Attempt[int], seat: int, events: Sequence[Event]) -> Picture:
        if attempt.position is None:
            return Picture.from_parts(draw_note(self.name), told=self.name)
        rows = self._list_rows(attempt.position)
        at = {
            str(number + 1): (column - y / 2 + self.side / 2, 0.87 * y)
            for y, row in enumerate(rows)
            for column, (number, _) in enumerate(row)
        }
        lines = [tuple(name.split(" to ")) for name in self.jumps]
        pegs = {str(number + 1): draw_disc("two", str(number + 1)) for row in rows for number, peg in row if peg}
        board = draw_points(at, [(one, other) for one, other in lines], pegs, last=find_last_turn(events))
        return Picture.from_parts(board, told=f"Pegs in the holes {', '.join(pegs)}")

    def _list_rows(self, position: int) -> list[list[tuple[int, bool]]]:
        """Return the number of each hole, and whether it has a peg, row by row."""
        return [
            [
                (number, bool(position >> number & 1))
                for number in range(row * (row + 1) // 2, (row + 1) * (row + 2) // 2)
            ]
            for row in range(self.side)
        ]


game = make_game_factory(PegJump)
