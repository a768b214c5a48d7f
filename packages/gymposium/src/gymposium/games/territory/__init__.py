"""Territory games: players enclose, capture or block squares. `GAMES` lists their specs."""

from __future__ import annotations

from gymposium.plugins.specs import GameSpec, Parameter

GAMES = (
    GameSpec(
        name="othello",
        title="Othello",
        summary="Enclose the opponent's discs to flip them; the player with more discs wins.",
        entry_point="gymposium.games.territory.othello:game",
        seat_names=("x", "o"),
        best_play="A draw on 8 by 8 (Takizawa, 2023, Othello is Solved).",
    ),
    GameSpec(
        name="clobber",
        title="Clobber",
        summary="Capture a neighboring piece with each move; the player who cannot move loses.",
        entry_point="gymposium.games.territory.clobber:game",
        seat_names=("o", "x"),
        best_play=(
            "Not known in general; small boards have been solved by combinatorial game theory (Albert and others, "
            "2005, An Introduction to Clobber). The `exact` player handles boards up to 4 by 4."
        ),
        parameters=(
            Parameter(name="rows", default=5, low=2, high=12, help="Height of the board."),
            Parameter(name="columns", default=6, low=2, high=12, help="Width of the board."),
        ),
        examples=({}, {"rows": 5, "columns": 5}, {"rows": 7, "columns": 7}),
    ),
    GameSpec(
        name="dots_and_boxes",
        title="Dots and boxes",
        summary="Draw lines between dots; draw the fourth side of a box to own it and to move again.",
        entry_point="gymposium.games.territory.dots_and_boxes:game",
        seat_names=("x", "o"),
        best_play=(
            "A draw on 4 by 5 boxes (Barker and Korf, 2012, Solving Dots-And-Boxes). Strong players count chains: the "
            "player who has to open the first long chain loses it and most of the others (Berlekamp, 2000, The Dots "
            "and Boxes Game)."
        ),
        parameters=(
            Parameter(name="num_rows", default=3, low=1, high=9, help="Rows of boxes."),
            Parameter(name="num_cols", default=3, low=1, high=9, help="Columns of boxes."),
            Parameter(
                name="utility_margin",
                default=False,
                help="Whether the result is the difference in boxes instead of win, draw or loss.",
            ),
        ),
        examples=(
            {},
            {"num_rows": 4, "num_cols": 4},
            {"num_rows": 5, "num_cols": 5},
            {"num_rows": 2, "num_cols": 4, "utility_margin": True},
        ),
    ),
    GameSpec(
        name="go",
        title="Go",
        summary="Surround points and capture stones; area scoring on a board of any size.",
        entry_point="gymposium.games.territory.go:game",
        seat_names=("Black, X", "White, O"),
        best_play=(
            "On 5 by 5 the first player owns the whole board (van der Werf, 2003, Solving Go on Small Boards). Larger "
            "boards are not solved. Repetition is a draw here, which changes the result on some small boards."
        ),
        # The engine's parameter `handicap` is omitted because it supports only 19 by 19. The engine's default size, 19,
        # makes very long prompts, so the default here is the usual small board, 9.
        parameters=(
            Parameter(name="board_size", default=9, low=2, high=19, help="Rows and columns of the board."),
            Parameter(
                name="komi",
                default=7.5,
                low=-100.0,
                high=100.0,
                help="Points added to White's count; a negative value adds to Black's.",
            ),
            Parameter(
                name="max_game_length",
                default=0,
                low=0,
                high=2000,
                help="Maximum number of moves, including passes; 0 means twice the number of points.",
            ),
        ),
        examples=(
            {},
            {"board_size": 5},
            {"board_size": 7},
            {"board_size": 4, "komi": -2.0, "max_game_length": 20},
        ),
    ),
    GameSpec(
        name="amazons",
        title="The Game of the Amazons",
        summary="Move an amazon like a queen, then block a square with its arrow; the player who cannot move loses.",
        entry_point="gymposium.games.territory.amazons:game",
        seat_names=("X", "O"),
        best_play="On 5 by 5 the first player wins (Müller, 2001, Solving 5x5 Amazons). Larger boards are not solved.",
        parameters=(
            Parameter(name="board_size", default=10, choices=(6, 8, 10), help="Rows and columns of the board."),
        ),
        examples=({}, {"board_size": 6}, {"board_size": 8}),
    ),
)
