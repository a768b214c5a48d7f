"""Line games: players build rows of their own marks or men. `GAMES` lists their specs."""

from __future__ import annotations

from gymposium.plugins.specs import GameSpec, Parameter

GAMES = (
    GameSpec(
        name="tic_tac_toe",
        title="Tic-tac-toe",
        summary="Three in a row on a 3 by 3 board.",
        entry_point="gymposium.games.lines.tic_tac_toe:game",
        seat_names=("x", "o"),
        best_play=(
            "A draw. Against uniformly random play at most 0.9667 of the matches can be won; a policy that never risks "
            "a loss wins at most 0.9556."
        ),
    ),
    GameSpec(
        name="connect_four",
        title="Connect Four",
        summary="Drop discs into columns; four in a row win.",
        entry_point="gymposium.games.lines.connect_four:game",
        seat_names=("x", "o"),
        best_play=(
            "On the board of 6 rows and 7 columns the first player wins, beginning in the middle column (Allen, 1988; "
            "Allis, 1988)."
        ),
        parameters=(
            Parameter(name="rows", default=6, low=4, high=12, help="Height of the board."),
            Parameter(name="columns", default=7, low=4, high=12, help="Width of the board."),
            Parameter(name="x_in_row", default=4, low=3, high=6, help="Discs in a row that win."),
        ),
        examples=({}, {"rows": 5, "columns": 4, "x_in_row": 3}),
    ),
    GameSpec(
        name="gomoku",
        title="Gomoku",
        summary="Place stones on any empty point; five in a row win.",
        entry_point="gymposium.games.lines.gomoku:game",
        null_agents={"first": "Random play does not block a row.", "last": "Random play does not block a row."},
        seat_names=("Black, b", "White, w"),
        best_play=(
            "Free gomoku on 15 by 15 is won by the first player (Allis, 1994, Searching for Solutions in Games and "
            "Artificial Intelligence)."
        ),
        parameters=(
            Parameter(name="size", default=15, low=5, high=19, help="Rows and columns of the board."),
            Parameter(
                name="connect", default=5, low=3, high=7, help="Stones in a line that decide; longer lines count too."
            ),
            Parameter(name="anti", default=False, help="Whether such a line loses instead of winning."),
            Parameter(name="wrap", default=False, help="Whether lines continue across the edges, as on a torus."),
        ),
        examples=({}, {"size": 7, "connect": 4, "anti": True}, {"size": 9, "wrap": True}),
    ),
    GameSpec(
        name="ultimate_tic_tac_toe",
        title="Ultimate Tic-tac-toe",
        summary="Nine boards of tic-tac-toe; each mark decides in which board the opponent plays next.",
        entry_point="gymposium.games.lines.ultimate_tic_tac_toe:game",
        seat_names=("x", "o"),
        best_play=(
            "If players can be sent to a board that is already decided, the first player wins in at most 43 moves "
            "(Bertholon and others, 2020, At Most 43 Moves, At Least 29). No solution has been published for the rules "
            "used here."
        ),
    ),
    GameSpec(
        name="nine_mens_morris",
        title="Nine men's morris",
        summary="Place nine men, then move them; three in a row remove an opposing man.",
        entry_point="gymposium.games.lines.nine_mens_morris:game",
        seat_names=("White", "Black"),
        best_play="A draw (Gasser, 1996, Solving Nine Men's Morris).",
    ),
)
