"""The plugin gymposium-puzzles: puzzles with one seat, and the player `solver`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from gymposium import GameSpec, OpponentSpec, Parameter, hookimpl

_Puzzle = partial(GameSpec, family="puzzles", seats=1, chance=True, utility="score")


@hookimpl
def gymposium_games() -> Iterable[GameSpec]:
    """Yield the puzzles."""
    yield _Puzzle(
        name="guess_number",
        title="Guess the number",
        summary="Find a hidden number from the answers higher and lower.",
        entry_point="gymposium_puzzles.guess_number:game",
        information="imperfect",
        parameters=(
            Parameter(name="most", default=50, low=2, high=1000, help="The largest number."),
            Parameter(name="turns", default=7, low=1, high=1000, help="Maximum number of guesses."),
        ),
        presets={"GEM easy": {"most": 10, "turns": 4}, "GEM hard": {"most": 50, "turns": 7}},
        examples=({}, {"most": 10, "turns": 4}),
        best_play="Bisection finds each of 2^turns - 1 numbers. With the defaults, it always finds the number.",
    )
    yield _Puzzle(
        name="hanoi",
        title="Tower of Hanoi",
        summary="Bring a tower of disks to another peg, never a larger disk onto a smaller one.",
        entry_point="gymposium_puzzles.hanoi:game",
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
    )


@hookimpl
def gymposium_opponents() -> Iterable[OpponentSpec]:
    """Yield the solver."""
    games = tuple(spec.name for spec in gymposium_games())
    yield OpponentSpec(
        name="solver",
        form="solver",
        games=games,
        pattern="solver",
        summary="Each puzzle of gymposium-puzzles: its solver, which knows what the seat knows.",
        entry_point="gymposium_puzzles.solver:Solver",
        examples=("solver",),
        offered=("solver",),
    )
