"""Puzzles with a hidden secret, which answers to guesses narrow down. `GAMES` lists their specs."""

from __future__ import annotations

from functools import partial

from gymposium import GameSpec, Parameter

_Puzzle = partial(GameSpec, family="puzzles", seats=1, chance=True, utility="score")

GAMES = (
    _Puzzle(
        name="guess_number",
        title="Guess the number",
        summary="Find a hidden number from the answers higher and lower.",
        entry_point="gymposium_puzzles.deduction.guess_number:game",
        information="imperfect",
        parameters=(
            Parameter(name="most", default=50, low=2, high=1000, help="The largest number."),
            Parameter(name="turns", default=7, low=1, high=1000, help="Maximum number of guesses."),
        ),
        presets={"GEM easy": {"most": 10, "turns": 4}, "GEM hard": {"most": 50, "turns": 7}},
        examples=({}, {"most": 10, "turns": 4}),
        best_play="Bisection finds each of 2^turns - 1 numbers. With the defaults, it always finds the number.",
    ),
)
