"""Games of pieces that move: to take the other's, or to arrive."""

from __future__ import annotations

from gymposium.plugins.specs import GameSpec, Parameter

GAMES = (
    GameSpec(
        name="breakthrough",
        title="Breakthrough",
        summary="Get one of your pieces to the far side of the board.",
        entry_point="gymposium.games.pieces.breakthrough:game",
        parameters=(
            Parameter(name="rows", default=8, low=3, high=9, help="Height of the board."),
            Parameter(name="columns", default=8, low=2, high=12, help="Width of the board."),
        ),
        examples=({}, {"rows": 5, "columns": 5}),
    ),
    GameSpec(
        name="chess",
        title="Chess",
        summary="Checkmate the opponent's king.",
        entry_point="gymposium.games.pieces.chess:game",
    ),
)
