"""Games of territory: squares are enclosed, taken or left without a move."""

from __future__ import annotations

from gymposium.plugins.specs import GameSpec, Parameter

GAMES = (
    GameSpec(
        name="othello",
        title="Othello",
        summary="Enclose the opponent's discs to turn them over; more discs win.",
        entry_point="gymposium.games.territory.othello:game",
    ),
    GameSpec(
        name="clobber",
        title="Clobber",
        summary="Take a neighbouring piece with each move; whoever cannot loses.",
        entry_point="gymposium.games.territory.clobber:game",
        parameters=(
            Parameter(name="rows", default=5, low=2, high=12, help="Height of the board."),
            Parameter(name="columns", default=6, low=2, high=12, help="Width of the board."),
        ),
        examples=({}, {"rows": 5, "columns": 5}, {"rows": 7, "columns": 7}),
    ),
)
