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
    _Puzzle(
        name="mastermind",
        title="Mastermind",
        summary="Find a hidden code of colors from counts of exact and misplaced pegs.",
        entry_point="gymposium_puzzles.deduction.mastermind:game",
        information="imperfect",
        parameters=(
            Parameter(name="pegs", default=4, low=1, high=4, help="Number of pegs of the code."),
            Parameter(name="colors", default=6, low=2, high=8, help="Number of colors."),
            Parameter(name="duplicates", default=True, help="Whether a color may occur more than once."),
            Parameter(name="turns", default=10, low=1, high=100, help="Maximum number of guesses."),
        ),
        presets={
            "classic": {"pegs": 4, "colors": 6, "duplicates": True, "turns": 10},
            "GEM easy": {"pegs": 2, "colors": 6, "duplicates": False, "turns": 10},
            "GEM hard": {"pegs": 4, "colors": 8, "duplicates": False, "turns": 30},
        },
        examples=({}, {"pegs": 2, "colors": 6, "duplicates": False}),
        best_play=(
            "The solver plays Knuth's minimax strategy. With the defaults it needs at most 5 guesses and 4.48 on "
            "average (5801 / 1296), and no strategy averages below 4.34 (K. Koyama and T. W. Lai, 1993). It always "
            "finds the codes of all presets."
        ),
    ),
)
