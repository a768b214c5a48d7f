"""The tower of Hanoi."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

from gymposium.errors import BadParameter
from gymposium.games.pictures import Picture, draw_note, draw_table
from gymposium.games.rules import Event, Style, make_game_factory
from gymposium.util.streams import Draw
from gymposium_puzzles.puzzle import Attempt, Puzzle

PEGS = "abc"


class Tower(NamedTuple):
    """A position."""

    disks: str
    """The peg of each disk, from the smallest disk to the largest."""
    target: str
    """The peg where all disks must go."""


class Hanoi(Puzzle[Tower]):
    """Rules of the tower of Hanoi. Chance draws the first peg and the target.

    Every position has a solution. From the start, the shortest has 2^disks - 1 moves, and the solver plays it."""

    name = "tower of Hanoi"
    moves = tuple(f"{one} to {other}" for one, other in permutations(PEGS, 2))

    def __init__(self, disks: int, turns: int) -> None:
        shortest = 2**disks - 1
        if 0 < turns < shortest:
            raise BadParameter(f"turns={turns}: {disks} disks take {shortest} moves. Give more turns or fewer disks.")
        super().__init__(turns or 4 * shortest // 3 + 1)
        self.disks = disks

    def generate(self, draw: Draw) -> Tower:
        start, target = draw.some(PEGS, 2)
        return Tower(start * self.disks, target)

    def list_moves(self, position: Tower) -> Sequence[str]:
        tops = {peg: position.disks.find(peg) % (self.disks + 1) for peg in PEGS}  # an empty peg takes any disk
        return [move for move in self.moves if tops[move[0]] < tops[move[-1]]]

    def step(self, position: Tower, move: str) -> Tower:
        return position._replace(disks=position.disks.replace(move[0], move[-1], 1))

    def is_solved(self, position: Tower) -> bool:
        return position.disks == position.target * self.disks

    def describe(self, position: Tower, style: Style) -> str:
        pegs = [f"{peg}: {' '.join(disks) or 'empty'}\n" for peg, disks in self._list_pegs(position).items()]
        return f"{''.join(pegs)}Target: {position.target}.\n"

    def explain(self) -> str:
        return (
            f"The tower of Hanoi with {self.disks} disks on three pegs, a, b and c. A move takes the top disk of one "
            "peg and puts it on another peg that is empty or whose top disk is larger. Disks are numbered by size, 1 "
            "is the smallest, and each peg is listed from top to bottom. You score 1 if you bring all disks to the "
            "target peg, otherwise 0."
        )

    def choose(self, position: Tower) -> str:
        move, target = "", position.target
        for disk in reversed(range(self.disks)):  # the largest disk that is not in place moves last
            peg = position.disks[disk]
            if peg != target:
                move = f"{peg} to {target}"
                (target,) = set(PEGS) - {peg, target}
        return move

    def draw_picture(self, attempt: Attempt[Tower], seat: int, events: Sequence[Event]) -> Picture:
        if attempt.position is None:
            return Picture.from_parts(draw_note(self.name), told=self.name)
        pegs = self._list_pegs(attempt.position)
        rows = [
            [f"{disks[len(disks) - height]}" if height <= len(disks) else "" for disks in pegs.values()]
            for height in range(self.disks, 0, -1)
        ]
        told = "; ".join(f"peg {peg}: {' '.join(disks) or 'empty'}" for peg, disks in pegs.items())
        target = draw_note(f"Target: {attempt.position.target}")
        return Picture.from_parts(
            draw_table(rows, head=list(pegs)), target, told=f"{told}; target {attempt.position.target}"
        )

    def _list_pegs(self, position: Tower) -> dict[str, list[str]]:
        """Return the disks on each peg, from top to bottom."""
        return {peg: [str(disk + 1) for disk in range(self.disks) if position.disks[disk] == peg] for peg in PEGS}


game = make_game_factory(Hanoi)
