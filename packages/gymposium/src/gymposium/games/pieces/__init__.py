"""Games of moving pieces: players capture pieces or race to a goal. `GAMES` lists their specs."""

from __future__ import annotations

from gymposium.plugins.specs import GameSpec, Parameter

GAMES = (
    GameSpec(
        name="breakthrough",
        title="Breakthrough",
        summary="Get one of your pieces to the far side of the board.",
        entry_point="gymposium.games.pieces.breakthrough:game",
        null_agents={"last": "It advances one pawn, which random play seldom takes."},
        seat_names=("Black, b", "White, w"),
        best_play=(
            "On 5 by 5 the second player wins; 6 by 5 has been solved as well (Saffidine and others, 2011, Solving "
            "Breakthrough with Race Patterns and Job-Level Proof Number Search). The usual 8 by 8 board has not."
        ),
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
        seat_names=("Black", "White"),
        best_play=(
            "Known only for positions with up to seven pieces (Lomonosov and Syzygy tables). Most matches between the "
            "strongest programs are draws."
        ),
    ),
    GameSpec(
        name="checkers",
        title="Checkers",
        summary="Capture the opponent's men by jumping over them, or block them.",
        entry_point="gymposium.games.pieces.checkers:game",
        seat_names=("White", "Black"),
        best_play=(
            "A draw on 8 by 8 (Schaeffer and others, 2007, Checkers Is Solved), under rules for draws that differ from "
            "those used here."
        ),
        parameters=(
            # On boards wider than high, the engine's search for a jumping piece fails. On boards with fewer than seven
            # rows, no player has a legal move.
            Parameter(name="rows", default=8, low=8, high=12, help="Height of the board."),
            Parameter(name="columns", default=8, low=4, high=8, help="Width of the board."),
        ),
        examples=({}, {"columns": 6}, {"rows": 9, "columns": 5}),
    ),
    GameSpec(
        name="quoridor",
        title="Quoridor",
        summary="Reach the far side first, and place walls in the opponent's way.",
        entry_point="gymposium.games.pieces.quoridor:game",
        seat_names=("x", "o"),
        best_play="Not known.",
        parameters=(
            Parameter(name="board_size", default=9, low=3, high=11, help="Side of the board."),
            Parameter(name="wall_count", default=10, low=0, high=20, help="Walls of each player."),
        ),
        examples=({}, {"board_size": 7, "wall_count": 8}),
    ),
)
