"""Games that hide something, most of them of cards."""

from __future__ import annotations

from gymposium.plugins.specs import GameSpec, Parameter

GAMES = (
    GameSpec(
        name="kuhn_poker",
        title="Kuhn poker",
        summary="Three cards, one bet: the smallest poker.",
        entry_point="gymposium.games.openspiel.kuhn_poker:game",
        information="imperfect",
        chance=True,
    ),
    GameSpec(
        name="leduc_poker",
        title="Leduc poker",
        summary="Six cards, two betting rounds, one public card.",
        entry_point="gymposium.games.openspiel.leduc_poker:game",
        information="imperfect",
        chance=True,
    ),
    GameSpec(
        name="goofspiel",
        title="Goofspiel",
        summary="Bid your cards for prize cards; bids are made at once and stay hidden.",
        entry_point="gymposium.games.openspiel.goofspiel:game",
        parameters=(
            Parameter(name="num_cards", default=13, low=2, high=13, help="Cards in each hand and prizes."),
            Parameter(
                name="points_order",
                default="random",
                choices=("random", "ascending", "descending"),
                help="The order in which the prizes come up.",
            ),
        ),
        examples=({}, {"num_cards": 4, "points_order": "descending"}),
        information="imperfect",
        dynamics="simultaneous",
        chance=True,
    ),
    GameSpec(
        name="liars_dice",
        title="Liar's dice",
        summary="Bid on dice that you see only in part, or call the other a liar.",
        entry_point="gymposium.games.openspiel.liars_dice:game",
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
    GameSpec(
        name="phantom_ttt",
        title="Phantom tic-tac-toe",
        summary="Tic-tac-toe where you do not see the other's marks.",
        entry_point="gymposium.games.openspiel.phantom_ttt:game",
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
        name="gin_rummy",
        title="Gin rummy",
        summary="Draw and discard to make melds; knock when little is left over.",
        entry_point="gymposium.games.openspiel.gin_rummy:game",
        parameters=(
            Parameter(name="hand_size", default=10, low=3, high=10, help="Cards of each player."),
            Parameter(name="knock_card", default=10, low=0, high=10, help="Most deadwood to knock with; 0: only gin."),
            Parameter(
                name="oklahoma",
                default=False,
                help="The first upcard sets the most deadwood to knock with, instead of knock_card.",
            ),
            Parameter(name="gin_bonus", default=25, low=0, high=100, help="Points for knocking without deadwood."),
            Parameter(name="undercut_bonus", default=25, low=0, high=100, help="Points for beating the knocker."),
        ),
        examples=({}, {"hand_size": 3}, {"oklahoma": True}),
        information="imperfect",
        chance=True,
    ),
    GameSpec(
        name="blackjack",
        title="Blackjack",
        summary="Come closer to 21 than the dealer, alone.",
        entry_point="gymposium.games.openspiel.blackjack:game",
        seats=1,
        information="imperfect",
        chance=True,
        utility="score",
    ),
    GameSpec(
        name="hearts",
        title="Hearts",
        summary="Take no hearts and not the queen of spades, or all of them; four players.",
        entry_point="gymposium.games.openspiel.hearts:game",
        seats=4,
        parameters=(
            Parameter(name="pass_cards", default=True, help="Three cards are passed in a direction that is drawn."),
            Parameter(name="no_pts_on_first_trick", default=True, help="No hearts and no Qs on the first trick."),
            Parameter(name="can_lead_any_club", default=False, help="The first lead may be any club, not only 2c."),
            Parameter(name="jd_bonus", default=False, help="Jd takes 10 points off."),
            Parameter(name="avoid_all_tricks_bonus", default=False, help="Taking no trick takes 5 points off."),
            Parameter(name="must_break_hearts", default=True, help="Hearts cannot be led before they are broken."),
            Parameter(name="qs_breaks_hearts", default=True, help="Qs breaks hearts as a heart does."),
            Parameter(
                name="can_lead_hearts_instead_of_qs",
                default=False,
                help="Who holds only hearts and Qs may lead hearts that are not broken.",
            ),
        ),
        examples=(
            {},
            {"pass_cards": False, "jd_bonus": True, "avoid_all_tricks_bonus": True},
            {
                "can_lead_any_club": True,
                "no_pts_on_first_trick": False,
                "qs_breaks_hearts": False,
                "can_lead_hearts_instead_of_qs": True,
            },
        ),
        information="imperfect",
        chance=True,
        utility="general_sum",
    ),
)
