"""Games of connection: one's stones are to be joined."""

from __future__ import annotations

from gymposium.plugins.specs import GameSpec, Parameter

GAMES = (
    GameSpec(
        name="hex",
        title="Hex",
        summary="Join your two sides of a board of hexagons; there are no draws.",
        entry_point="gymposium.games.connection.hex:game",
        parameters=(Parameter(name="board_size", default=11, low=3, high=19, help="Rows and columns of the board."),),
        examples=({}, {"board_size": 5}, {"board_size": 7}),
    ),
)
