"""Puzzles of moves in the right order. `GAMES` lists their specs."""

from __future__ import annotations

from functools import partial

from gymposium import GameSpec, Parameter

_Puzzle = partial(GameSpec, family="puzzles", seats=1, chance=True, utility="score")

GAMES = (
    _Puzzle(
        name="hanoi",
        title="Tower of Hanoi",
        summary="Bring a tower of disks to another peg, never a larger disk onto a smaller one.",
        entry_point="gymposium_puzzles.planning.hanoi:game",
        parameters=(
            Parameter(name="disks", default=3, low=1, high=10, help="Number of disks."),
            Parameter(
                name="turns",
                default=0,
                low=0,
                high=2000,
                help="Maximum number of moves. 0: a third more than the shortest solution, and one.",
            ),
        ),
        presets={"GEM easy": {"disks": 3, "turns": 10}, "GEM hard": {"disks": 5, "turns": 35}},
        examples=({}, {"disks": 2, "turns": 4}),
        best_play="The shortest solution has 2^disks - 1 moves. Every position has a solution.",
    ),
    _Puzzle(
        name="peg_jump",
        title="Peg jump",
        summary="Jump over pegs on a triangle until one is left.",
        entry_point="gymposium_puzzles.planning.peg_jump:game",
        parameters=(
            Parameter(name="side", default=5, low=4, high=6, help="Holes along each side of the triangle."),
            Parameter(name="pegs", default=8, low=2, high=9, help="Number of pegs at the start."),
        ),
        examples=({}, {"side": 4, "pegs": 5}),
        best_play="Instances are made backwards from a single peg, so each has a solution, which the solver finds.",
    ),
)
