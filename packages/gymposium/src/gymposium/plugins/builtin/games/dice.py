"""Games of dice."""

from __future__ import annotations

from gymposium.plugins.specs import GameSpec, Parameter

GAMES = (
    GameSpec(
        name="backgammon",
        title="Backgammon",
        summary="Race fifteen checkers home by the dice, hitting and blocking; no doubling cube.",
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
        entry_point="gymposium.games.dice.pig:game",
        best_play=(
            "To 100 points with a die of 6 best play is known: whoever begins wins 0.5306 of the matches. When to stop "
            "follows no simple rule; holding at 20 is close (Neller and Presser, 2004, Optimal Play of the Dice Game "
            "Pig)."
        ),
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
    GameSpec(
        name="liars_dice",
        title="Liar's dice",
        summary="Bid on dice that you see only in part, or call the other a liar.",
        entry_point="gymposium.games.dice.liars_dice:game",
        best_play=(
            "With one die each an equilibrium can be computed; it is worth -0.028 to the first seat (`cfr-60`)."
        ),
        parameters=(
            Parameter(name="numdice", default=1, low=1, high=6, help="Dice of each player."),
            Parameter(name="dice_sides", default=6, low=2, high=9, help="Faces of a die; the highest is wild."),
            Parameter(
                name="bidding_rule",
                default="reset-face",
                choices=("reset-face", "reset-quantity"),
                help="A raise is more dice of any face (reset-face), or a higher face on any number (reset-quantity).",
            ),
        ),
        examples=({}, {"numdice": 5}, {"numdice": 2, "dice_sides": 4, "bidding_rule": "reset-quantity"}),
        information="imperfect",
        chance=True,
    ),
)
