"""Other card games."""

from __future__ import annotations

from gymposium.plugins.specs import GameSpec, Parameter

GAMES = (
    GameSpec(
        name="goofspiel",
        title="Goofspiel",
        summary="Bid your cards for prize cards; bids are made at once, and stay hidden unless imp_info is off.",
        entry_point="gymposium.games.cards.goofspiel:game",
        best_play=(
            "Against random bids the best is to bid what the prize is worth, which is `match-prize` (Ross, 1971, "
            "Goofspiel: The Game of Pure Strategy). Equilibria are mixed. `cfr-N` computes them for up to 4 cards."
        ),
        parameters=(
            Parameter(name="num_cards", default=13, low=2, high=16, help="Cards in each hand and prizes."),
            Parameter(name="imp_info", default=True, help="Bids stay hidden: only who won each round is told."),
            Parameter(
                name="points_order",
                default="random",
                choices=("random", "ascending", "descending"),
                help="The order in which the prizes come up.",
            ),
        ),
        examples=({}, {"num_cards": 4, "points_order": "descending"}, {"num_cards": 8, "imp_info": False}),
        information="imperfect",
        dynamics="simultaneous",
        chance=True,
    ),
    GameSpec(
        name="gin_rummy",
        title="Gin rummy",
        summary="Draw and discard to make melds; knock when little is left over.",
        entry_point="gymposium.games.cards.gin_rummy:game",
        best_play="Not known.",
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
        best_play=(
            "Against a fixed dealer it is a matter of arithmetic: stand or hit by one's total and the dealer's card "
            "(Baldwin and others, 1956, The Optimum Strategy in Blackjack). Nobody gains on the dealer without "
            "doubling, splitting and the bonus for a natural."
        ),
        seats=1,
        information="imperfect",
        chance=True,
        utility="score",
    ),
    GameSpec(
        name="crazy_eights",
        title="Crazy eights",
        summary="Follow suit or rank, or play an eight and name a suit; get rid of your cards.",
        entry_point="gymposium.games.cards.crazy_eights:game",
        best_play="Not known.",
        parameters=(
            Parameter(name="players", default=2, low=2, high=5, help="Players; with two 7 cards each, otherwise 5."),
            Parameter(name="max_draw_cards", default=5, low=1, high=52, help="Most cards to draw in a turn."),
            Parameter(name="max_turns", default=100, low=1, high=500, help="Cards played, by all, that end the hand."),
            Parameter(
                name="use_special_cards",
                default=False,
                help="A 2 makes the next player draw, a Q skips the next player, an A turns the order round.",
            ),
            Parameter(name="reshuffle", default=False, help="The pile becomes the stock when that is empty."),
        ),
        examples=(
            {},
            {"players": 4, "max_turns": 50, "use_special_cards": True, "reshuffle": True},
            {"players": 3, "max_draw_cards": 1},
        ),
        information="imperfect",
        chance=True,
        utility="general_sum",
    ),
    GameSpec(
        name="hanabi",
        title="Hanabi",
        summary="Build fireworks together; you see everybody's cards but your own, and give each other hints.",
        entry_point="gymposium.games.cards.hanabi:game",
        best_play=(
            "25 points cannot be had from every deal. Learned policies for two reach more than 24 on average with "
            "themselves, and far less with strangers (Bard and others, 2020, The Hanabi Challenge)."
        ),
        parameters=(
            Parameter(name="players", default=2, low=2, high=5, help="Players."),
            Parameter(name="colors", default=5, low=1, high=5, help="Colours, each with a stack to build."),
            Parameter(name="ranks", default=5, low=1, high=5, help="Numbers of each colour."),
            Parameter(
                name="hand_size",
                default=5,
                low=1,
                high=5,
                help="Cards of each player; the usual rules have 4 for four or five players.",
            ),
            Parameter(name="max_information_tokens", default=8, low=1, high=8, help="Hints that can be given."),
            Parameter(name="max_life_tokens", default=3, low=1, high=3, help="Mistakes, the last of which loses all."),
        ),
        examples=(
            {},
            {"players": 4, "hand_size": 4},
            {"colors": 2, "ranks": 3, "hand_size": 2, "max_information_tokens": 3, "max_life_tokens": 1},
        ),
        information="imperfect",
        chance=True,
        utility="cooperative",
    ),
    GameSpec(
        name="solitaire",
        title="Klondike solitaire",
        summary="Build the four suits up from the ace, turning up what is face down.",
        entry_point="gymposium.games.cards.solitaire:game",
        best_play=(
            "Who sees all cards can win about 82 of 100 deals (Blake and Gent, 2019, The Winnability of Klondike "
            "Solitaire). How much can be had without is not known."
        ),
        seats=1,
        parameters=(
            Parameter(
                name="depth_limit",
                default=150,
                low=32,
                high=1000,
                help="Moves and cards turned up, 31 at the beginning included, that end the match.",
            ),
        ),
        examples=({}, {"depth_limit": 60}),
        chance=True,
        utility="score",
    ),
)
