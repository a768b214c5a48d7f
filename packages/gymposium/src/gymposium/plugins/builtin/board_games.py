"""Board games: nothing is hidden, and only dice are left to chance."""

from __future__ import annotations

from gymposium.plugins.specs import GameSpec, Parameter

GAMES = (
    GameSpec(
        name="tic_tac_toe",
        title="Tic-tac-toe",
        summary="Three in a row on a 3 by 3 board.",
        entry_point="gymposium.games.openspiel.tic_tac_toe:game",
    ),
    GameSpec(
        name="connect_four",
        title="Connect Four",
        summary="Drop discs into columns; four in a row win.",
        entry_point="gymposium.games.openspiel.connect_four:game",
        parameters=(
            Parameter(name="rows", default=6, low=4, high=12, help="Height of the board."),
            Parameter(name="columns", default=7, low=4, high=12, help="Width of the board."),
            Parameter(name="x_in_row", default=4, low=3, high=6, help="Discs in a row that win."),
        ),
        examples=({}, {"rows": 5, "columns": 4, "x_in_row": 3}),
    ),
    GameSpec(
        name="othello",
        title="Othello",
        summary="Enclose the opponent's discs to turn them over; more discs win.",
        entry_point="gymposium.games.openspiel.othello:game",
    ),
    GameSpec(
        name="hex",
        title="Hex",
        summary="Join your two sides of a board of hexagons; there are no draws.",
        entry_point="gymposium.games.openspiel.hex:game",
        parameters=(Parameter(name="board_size", default=11, low=3, high=19, help="Rows and columns of the board."),),
        examples=({}, {"board_size": 5}, {"board_size": 7}),
    ),
    GameSpec(
        name="clobber",
        title="Clobber",
        summary="Take a neighbouring piece with each move; whoever cannot loses.",
        entry_point="gymposium.games.openspiel.clobber:game",
        parameters=(
            Parameter(name="rows", default=5, low=2, high=12, help="Height of the board."),
            Parameter(name="columns", default=6, low=2, high=12, help="Width of the board."),
        ),
        examples=({}, {"rows": 5, "columns": 5}, {"rows": 7, "columns": 7}),
    ),
    GameSpec(
        name="breakthrough",
        title="Breakthrough",
        summary="Get one of your pieces to the far side of the board.",
        entry_point="gymposium.games.openspiel.breakthrough:game",
        parameters=(
            Parameter(name="rows", default=8, low=3, high=9, help="Height of the board."),
            Parameter(name="columns", default=8, low=2, high=12, help="Width of the board."),
        ),
        examples=({}, {"rows": 5, "columns": 5}),
    ),
    GameSpec(
        name="backgammon",
        title="Backgammon",
        summary="Race fifteen checkers home by the dice, hitting and blocking; no doubling cube.",
        entry_point="gymposium.games.openspiel.backgammon:game",
        parameters=(
            Parameter(
                name="scoring_type",
                default="winloss_scoring",
                choices=("winloss_scoring", "enable_gammons", "full_scoring"),
                help="Whether a win counts double for a gammon and, in full scoring, triple for a backgammon.",
            ),
            Parameter(
                name="max_player_turns",
                default=500,
                low=1,
                high=5000,
                help="The game is a draw once both players together have had more turns than this.",
            ),
        ),
        examples=({}, {"scoring_type": "full_scoring", "max_player_turns": 30}),
        chance=True,
    ),
    GameSpec(
        name="pig",
        title="Pig",
        summary="Roll the die as often as you dare: a 1 costs you the turn.",
        entry_point="gymposium.games.openspiel.pig:game",
        parameters=(
            Parameter(name="winscore", default=100, low=1, high=1000, help="Points that win."),
            Parameter(name="diceoutcomes", default=6, low=2, high=100, help="Sides of the die."),
            Parameter(
                name="horizon",
                default=1000,
                low=1,
                high=10000,
                help="Rolls and stops of both players after which it is a draw.",
            ),
        ),
        examples=({}, {"winscore": 20, "diceoutcomes": 4, "horizon": 30}),
        chance=True,
    ),
)
