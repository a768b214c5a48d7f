"""Dice games. `GAMES` lists their specs."""

from __future__ import annotations

from gymposium.plugins.specs import GameSpec, Parameter

GAMES = (
    GameSpec(
        name="backgammon",
        title="Backgammon",
        summary="Race fifteen checkers home by dice rolls, hitting and blocking; no doubling cube.",
        entry_point="gymposium.games.dice.backgammon:game",
        seat_names=("x", "o"),
        best_play=(
            "Not known. Programs that learn from their own play are stronger than people (Tesauro, 1995, Temporal "
            "Difference Learning and TD-Gammon)."
        ),
        parameters=(
            Parameter(
                name="scoring_type",
                default="winloss_scoring",
                choices=("winloss_scoring", "enable_gammons", "full_scoring"),
                help="How wins count: 1 each, double for a gammon, or in full scoring also triple for a backgammon.",
            ),
            Parameter(
                name="max_player_turns",
                default=500,
                low=1,
                high=5000,
                help="The game is a draw once both players together have taken more turns than this.",
            ),
        ),
        examples=({}, {"scoring_type": "full_scoring", "max_player_turns": 30}),
        chance=True,
    ),
    GameSpec(
        name="pig",
        title="Pig",
        summary="Roll the die as often as you like; a 1 loses the points of the turn.",
        entry_point="gymposium.games.dice.pig:game",
        best_play=(
            "Optimal play is known for 100 points and a six-sided die: the first player wins 0.5306 of the matches. No "
            "simple rule says when to stop; holding at 20 is close to optimal (Neller and Presser, 2004, Optimal Play "
            "of the Dice Game Pig)."
        ),
        parameters=(
            Parameter(name="winscore", default=100, low=1, high=1000, help="Points that win."),
            Parameter(name="diceoutcomes", default=6, low=2, high=100, help="Sides of the die."),
            Parameter(
                name="horizon",
                default=1000,
                low=1,
                high=10000,
                help="Maximum number of rolls and stops of both players. The game is then a draw.",
            ),
        ),
        examples=({}, {"winscore": 20, "diceoutcomes": 4, "horizon": 30}),
        chance=True,
    ),
    GameSpec(
        name="liars_dice",
        title="Liar's dice",
        summary="Bid on dice of which you see only your own, or call the opponent a liar.",
        entry_point="gymposium.games.dice.liars_dice:game",
        best_play=(
            "With one die each an equilibrium can be computed; its value for the first seat is -0.028 (`cfr-60`)."
        ),
        parameters=(
            Parameter(name="numdice", default=1, low=1, high=6, help="Dice of each player."),
            Parameter(name="dice_sides", default=6, low=2, high=9, help="Faces of a die; the highest is wild."),
            Parameter(
                name="bidding_rule",
                default="reset-face",
                choices=("reset-face", "reset-quantity"),
                help="A higher bid names more dice of any face (reset-face) or a higher face (reset-quantity).",
            ),
        ),
        examples=({}, {"numdice": 5}, {"numdice": 2, "dice_sides": 4, "bidding_rule": "reset-quantity"}),
        information="imperfect",
        chance=True,
    ),
)
