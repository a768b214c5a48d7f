"""Other card games."""

from __future__ import annotations

from gymposium.plugins.specs import GameSpec, Parameter

GAMES = (
    GameSpec(
        name="goofspiel",
        title="Goofspiel",
        summary="Bid your cards for prize cards; bids are made at once and stay hidden.",
        entry_point="gymposium.games.cards.goofspiel:game",
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
        name="gin_rummy",
        title="Gin rummy",
        summary="Draw and discard to make melds; knock when little is left over.",
        entry_point="gymposium.games.cards.gin_rummy:game",
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
        entry_point="gymposium.games.cards.blackjack:game",
        seats=1,
        information="imperfect",
        chance=True,
        utility="score",
    ),
)
