"""Board games with hidden information. `GAMES` lists their specs."""

from __future__ import annotations

from gymposium.plugins.specs import GameSpec, Parameter

GAMES = (
    GameSpec(
        name="phantom_ttt",
        title="Phantom tic-tac-toe",
        summary="Tic-tac-toe in which you do not see the opponent's marks.",
        entry_point="gymposium.games.hidden_boards.phantom_ttt:game",
        seat_names=("x", "o"),
        best_play=(
            "Not known exactly; equilibria have been approximated by counterfactual regret minimization (Lanctot, "
            "2013, Monte Carlo Sampling and Regret Minimization for Equilibrium Computation)."
        ),
        parameters=(
            Parameter(
                name="obstype",
                default="reveal-nothing",
                choices=("reveal-nothing", "reveal-numturns"),
                help="Whether you learn each time the opponent tries a square.",
            ),
            Parameter(
                name="gameversion",
                default="classical",
                choices=("classical", "abrupt"),
                help="After trying an occupied square you try again (classical) or lose your turn (abrupt).",
            ),
        ),
        examples=({}, {"obstype": "reveal-numturns"}, {"gameversion": "abrupt"}),
        information="imperfect",
    ),
    GameSpec(
        name="dark_hex",
        title="Dark hex",
        summary="Hex in which you do not see the opponent's stones.",
        entry_point="gymposium.games.hidden_boards.dark_hex:game",
        seat_names=("x", "o"),
        best_play="Not known for usual boards.",
        parameters=(
            Parameter(
                name="num_rows", default=3, low=2, high=11, help="Rows of the board; x connects the first and the last."
            ),
            Parameter(
                name="num_cols",
                default=3,
                low=2,
                high=11,
                help="Columns of the board; o connects the first and the last.",
            ),
            Parameter(
                name="obstype",
                default="reveal-nothing",
                choices=("reveal-nothing", "reveal-numturns"),
                help="Whether you learn each time the opponent tries a cell.",
            ),
            Parameter(
                name="gameversion",
                default="cdh",
                choices=("cdh", "adh"),
                help="After trying an occupied cell you try again (cdh, classical) or lose your turn (adh, abrupt).",
            ),
        ),
        examples=(
            {},
            {"num_rows": 4, "obstype": "reveal-numturns"},
            {"num_rows": 5, "num_cols": 5, "gameversion": "adh"},
        ),
        information="imperfect",
    ),
    GameSpec(
        name="battleship",
        title="Battleship",
        summary="Place your ships, then find the opponent's by shooting.",
        entry_point="gymposium.games.hidden_boards.battleship:game",
        best_play=(
            "Not known. Shooting at the square that most ship placements consistent with the hits and misses cover "
            "needs about half the shots of random play."
        ),
        parameters=(
            Parameter(name="board_width", default=8, low=5, high=10, help="Columns of each board."),
            Parameter(name="board_height", default=8, low=5, high=10, help="Rows of each board."),
            Parameter(
                name="ship_sizes",
                default="4-3-3-2-2",
                choices=("5-4-3-3-2", "4-3-3-2-2", "4-3-3-2-2-2-1-1-1-1", "4-3-2", "3-2", "2-1"),
                help="Lengths of each player's ships, in placing order; at most two fifths of the board.",
            ),
            Parameter(name="num_shots", default=40, low=5, high=100, help="Most shots of each player."),
            Parameter(
                name="allow_repeated_shots", default=False, help="Whether a player may shoot at the same square again."
            ),
            Parameter(
                name="loss_multiplier",
                default=1.0,
                low=0.0,
                high=10.0,
                help="Cost of a lost ship; a sunk one counts 1. Only 1 makes the game zero-sum.",
            ),
        ),
        examples=(
            {},
            {"board_width": 6, "board_height": 5, "ship_sizes": "3-2", "num_shots": 15},
            {
                "board_width": 5,
                "board_height": 6,
                "ship_sizes": "2-1",
                "num_shots": 12,
                "allow_repeated_shots": True,
                "loss_multiplier": 2.0,
            },
        ),
        information="imperfect",
    ),
)
