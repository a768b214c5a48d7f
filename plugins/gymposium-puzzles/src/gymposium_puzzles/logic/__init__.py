"""Puzzles of numbers, letters and logic. `GAMES` lists their specs."""

from __future__ import annotations

from functools import partial

from gymposium import GameSpec, Parameter

_Puzzle = partial(GameSpec, family="puzzles", seats=1, chance=True, utility="score")

GAMES = (
    _Puzzle(
        name="lights_out",
        title="Lights out",
        summary="Press lights that switch their neighbors until all are off.",
        entry_point="gymposium_puzzles.logic.lights_out:game",
        parameters=(
            Parameter(name="size", default=3, low=2, high=7, help="Rows and columns."),
            Parameter(name="turns", default=0, low=0, high=200, help="Maximum number of presses. 0: one per light."),
        ),
        presets={"classic": {"size": 5}},
        examples=({}, {"size": 5}),
        best_play=(
            "Instances are made by presses from darkness, so each has a solution. The solver finds one with the fewest "
            "presses, by linear algebra over two elements."
        ),
    ),
    _Puzzle(
        name="sudoku",
        title="Sudoku",
        summary="Fill a grid so that each row, column and box holds every digit once.",
        entry_point="gymposium_puzzles.logic.sudoku:game",
        parameters=(
            Parameter(name="size", default=4, choices=(4, 6, 9), help="Number of digits."),
            Parameter(name="given", default=0.62, low=0.45, high=0.95, help="Share of cells that are given."),
            Parameter(name="turns", default=0, low=0, high=500, help="Maximum number of moves. 0: two per empty cell."),
        ),
        presets={"GEM easy": {"size": 4, "turns": 15}, "GEM hard": {"size": 9, "turns": 50}},
        examples=({}, {"size": 6, "given": 0.5}),
        best_play="Each instance has exactly one solution, by complete search. The solver writes it.",
    ),
    _Puzzle(
        name="n_queens",
        title="Queens puzzle",
        summary="Complete a board of queens that do not attack each other.",
        entry_point="gymposium_puzzles.logic.n_queens:game",
        parameters=(
            Parameter(name="size", default=8, low=5, high=12, help="Rows and columns."),
            Parameter(name="given", default=3, low=0, high=4, help="Number of queens that are given."),
            Parameter(
                name="turns", default=0, low=0, high=200, help="Maximum number of moves. 0: two per missing queen."
            ),
        ),
        presets={"classic": {"size": 8, "given": 0}},
        examples=({}, {"size": 5, "given": 1}),
        best_play="The given queens are those of a solution. The solver finds a completion by complete search.",
    ),
    _Puzzle(
        name="knights_and_knaves",
        title="Knights and knaves",
        summary="Find out who tells the truth and who lies.",
        entry_point="gymposium_puzzles.logic.knights_and_knaves:game",
        parameters=(Parameter(name="people", default=3, low=2, high=6, help="Number of inhabitants."),),
        presets={"hard": {"people": 6}},
        examples=({}, {"people": 5}),
        best_play="Each instance has exactly one answer, by trying all. The solver gives it.",
    ),
)
