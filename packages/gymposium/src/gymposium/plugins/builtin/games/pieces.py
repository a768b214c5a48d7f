"""Games of pieces that move: to take the other's, or to arrive."""

from __future__ import annotations

from gymposium.plugins.specs import GameSpec, Parameter

GAMES = (
    GameSpec(
        name="breakthrough",
        title="Breakthrough",
        summary="Get one of your pieces to the far side of the board.",
        entry_point="gymposium.games.pieces.breakthrough:game",
        seat_names=("Black, b", "White, w"),
        best_play=(
            "On 5 by 5 the second player wins; 6 by 5 has been solved, too (Saffidine and others, 2011, Solving "
            "Breakthrough with Race Patterns and Job-Level Proof Number Search). The usual board has not."
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
            "Not known, but for all positions with up to seven pieces (Lomonosov and Syzygy tables). Between the "
            "strongest programs most matches are drawn."
        ),
    ),
    GameSpec(
        name="checkers",
        title="Checkers",
        summary="Jump over the opponent's men, or block them.",
        entry_point="gymposium.games.pieces.checkers:game",
        seat_names=("White", "Black"),
        best_play=(
            "On 8 by 8 a draw (Schaeffer and others, 2007, Checkers Is Solved), with rules for draws that differ from "
            "those here."
        ),
        parameters=(
            # The engine fails on boards that are wider than high (where it looks for a jumping piece), and with fewer
            # than seven rows nobody can move.
            Parameter(name="rows", default=8, low=8, high=12, help="Height of the board."),
            Parameter(name="columns", default=8, low=4, high=8, help="Width of the board."),
        ),
        examples=({}, {"columns": 6}, {"rows": 9, "columns": 5}),
    ),
    GameSpec(
        name="quoridor",
        title="Quoridor",
        summary="Reach the far side first, and wall in the other's way.",
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
