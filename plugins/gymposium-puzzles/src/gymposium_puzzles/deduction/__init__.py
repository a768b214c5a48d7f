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
    _Puzzle(
        name="wordle",
        title="Wordle",
        summary="Find a hidden word from the colors of each guess's letters.",
        entry_point="gymposium_puzzles.deduction.wordle:game",
        information="imperfect",
        parameters=(
            Parameter(name="letters", default=5, low=3, high=7, help="Number of letters of the word."),
            Parameter(name="turns", default=6, low=1, high=100, help="Maximum number of guesses."),
        ),
        presets={
            "classic": {"letters": 5, "turns": 6},
            "GEM easy": {"letters": 3, "turns": 15},
            "GEM hard": {"letters": 5, "turns": 25},
        },
        examples=({}, {"letters": 3, "turns": 15}),
        best_play=(
            "The solver guesses the fitting word whose colors have the highest entropy. With the defaults, it finds "
            "95% of the words, with a mean of 3.9 guesses. Guesses that do not fit can tell more, so a better player "
            "exists."
        ),
    ),
    _Puzzle(
        name="hangman",
        title="Hangman",
        summary="Find a hidden word letter by letter.",
        entry_point="gymposium_puzzles.deduction.hangman:game",
        information="imperfect",
        parameters=(
            Parameter(name="letters", default=5, low=3, high=7, help="Number of letters of the word."),
            Parameter(name="wrong", default=8, low=1, high=26, help="Number of wrong guesses that ends the game."),
            Parameter(name="turns", default=26, low=1, high=26, help="Maximum number of guesses, right and wrong."),
        ),
        presets={
            "GEM easy": {"letters": 3, "wrong": 26, "turns": 10},
            "GEM hard": {"letters": 7, "wrong": 26, "turns": 20},
        },
        examples=({}, {"letters": 7, "wrong": 26, "turns": 20}),
        best_play=(
            "The solver guesses the letter that most of the fitting words contain. With the defaults it finds 94% of "
            "the words. Turns count right and wrong guesses, as in GEM: it finds 65% with GEM easy, where most letters "
            "of short words are rare, and nearly all with GEM hard."
        ),
    ),
)
