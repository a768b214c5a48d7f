"""Connection games: players link their own stones. `GAMES` lists their specs."""

from __future__ import annotations

from gymposium.plugins.specs import GameSpec, Parameter

GAMES = (
    GameSpec(
        name="hex",
        title="Hex",
        summary="Connect your two sides of a board of hexagons; there are no draws.",
        entry_point="gymposium.games.connection.hex:game",
        seat_names=("x", "o"),
        best_play=(
            "The first player wins on every board: a draw is impossible, and an extra stone never hurts (Nash). "
            "Winning strategies are known up to 9 by 9 (Pawlewicz and Hayward, 2013, Scalable Parallel DFPN Search)."
        ),
        parameters=(Parameter(name="board_size", default=11, low=3, high=19, help="Rows and columns of the board."),),
        examples=({}, {"board_size": 5}, {"board_size": 7}),
    ),
    GameSpec(
        name="havannah",
        title="Havannah",
        summary="Form a ring, or connect two corners or three sides of a hexagonal board.",
        entry_point="gymposium.games.connection.havannah:game",
        null_agents={"first": "Random play does not block an edge.", "last": "Random play does not block an edge."},
        seat_names=("x", "o"),
        best_play=(
            "Not known for the usual sizes; the first player wins on the smallest boards, up to a side of 4 (Ewalds, "
            "2011, Playing and Solving Havannah)."
        ),
        parameters=(
            Parameter(name="board_size", default=8, low=3, high=10, help="Cells on each side of the board."),
            Parameter(
                name="swap", default=False, help="Whether the second player may take over the first stone (swap rule)."
            ),
        ),
        examples=({}, {"board_size": 4, "swap": True}),
    ),
    GameSpec(
        name="y",
        title="Y",
        summary="Connect all three sides of a triangle of hexagons; there are no draws.",
        entry_point="gymposium.games.connection.y:game",
        seat_names=("x", "o"),
        best_play=(
            "The first player wins on every board, as in hex: there are no draws, and an extra stone never hurts."
        ),
        parameters=(Parameter(name="board_size", default=19, low=3, high=19, help="Cells on each side of the board."),),
        examples=({}, {"board_size": 5}),
    ),
    GameSpec(
        name="lines_of_action",
        title="Lines of Action",
        summary="Move a piece as many squares as its line holds pieces; join all your pieces into one group.",
        entry_point="gymposium.games.connection.lines_of_action:game",
        seat_names=("x", "o"),
        best_play=(
            "Not known. Programs have been stronger than people since about 2000 (Winands, 2004, Informed Search in "
            "Complex Games)."
        ),
        parameters=(
            Parameter(
                name="max_game_length",
                default=1000,
                low=20,
                high=1000,
                help="Maximum number of moves of both players together. The game is then a draw.",
            ),
        ),
        examples=({}, {"max_game_length": 60}),
    ),
)
