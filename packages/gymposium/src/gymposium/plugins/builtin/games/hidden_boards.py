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
)
