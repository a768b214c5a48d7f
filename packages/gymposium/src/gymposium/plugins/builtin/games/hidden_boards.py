"""Board games on which not everything is seen."""

from __future__ import annotations

from gymposium.plugins.specs import GameSpec, Parameter

GAMES = (
    GameSpec(
        name="phantom_ttt",
        title="Phantom tic-tac-toe",
        summary="Tic-tac-toe where you do not see the other's marks.",
        entry_point="gymposium.games.hidden_boards.phantom_ttt:game",
        parameters=(
            Parameter(
                name="obstype",
                default="reveal-nothing",
                choices=("reveal-nothing", "reveal-numturns"),
                help="Whether you are told each time that your opponent tries a square.",
            ),
            Parameter(
                name="gameversion",
                default="classical",
                choices=("classical", "abrupt"),
                help="After trying a square that is taken you try again (classical) or lose your turn (abrupt).",
            ),
        ),
        examples=({}, {"obstype": "reveal-numturns"}, {"gameversion": "abrupt"}),
        information="imperfect",
    ),
    GameSpec(
        name="dark_hex",
        title="Dark hex",
        summary="Hex where you do not see the other's stones.",
        entry_point="gymposium.games.hidden_boards.dark_hex:game",
        parameters=(
            Parameter(name="num_rows", default=3, low=2, high=11, help="Rows of the board; x joins first and last."),
            Parameter(name="num_cols", default=3, low=2, high=11, help="Columns; o joins first and last."),
            Parameter(
                name="obstype",
                default="reveal-nothing",
                choices=("reveal-nothing", "reveal-numturns"),
                help="Whether you are told each time that your opponent tries a cell.",
            ),
            Parameter(
                name="gameversion",
                default="cdh",
                choices=("cdh", "adh"),
                help="After trying a taken cell you try again (cdh, classical) or lose your turn (adh, abrupt).",
            ),
        ),
        examples=(
            {},
            {"num_rows": 4, "obstype": "reveal-numturns"},
            {"num_rows": 5, "num_cols": 5, "gameversion": "adh"},
        ),
        information="imperfect",
    ),
)
