"""Card games other than poker and trick-taking games. `GAMES` lists their specs."""

from __future__ import annotations

from gymposium.plugins.specs import GameSpec, Parameter

GAMES = (
    GameSpec(
        name="goofspiel",
        title="Goofspiel",
        summary="Bid your cards for prize cards; bids are simultaneous, and stay hidden if imp_info is on.",
        entry_point="gymposium.games.cards.goofspiel:game",
        best_play=(
            "Against random bids the best policy bids the value of the prize: the player `match-prize` (Ross, 1971, "
            "Goofspiel: The Game of Pure Strategy). Equilibria are mixed; `cfr-N` computes them for up to 4 cards."
        ),
        parameters=(
            Parameter(name="num_cards", default=13, low=2, high=16, help="Number of cards in each hand and of prizes."),
            Parameter(
                name="imp_info",
                default=True,
                help="Whether bids stay hidden, so that players learn only who won each round.",
            ),
            Parameter(
                name="points_order",
                default="random",
                choices=("random", "ascending", "descending"),
                help="Order of the revealed prizes.",
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
        summary="Draw and discard cards to form melds; knock when few points of deadwood remain.",
        entry_point="gymposium.games.cards.gin_rummy:game",
        best_play="Not known.",
        parameters=(
            Parameter(name="hand_size", default=10, low=3, high=10, help="Cards of each player."),
            Parameter(
                name="knock_card",
                default=10,
                low=0,
                high=10,
                help="Most deadwood allowed for knocking; 0 allows only gin.",
            ),
            Parameter(
                name="oklahoma",
                default=False,
                help="Whether the first upcard, not knock_card, sets the most deadwood allowed for knocking.",
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
        summary="One player against the dealer: come closer to 21 without going over.",
        entry_point="gymposium.games.cards.blackjack:game",
        best_play=(
            "Known: hit or stand by your total and the dealer's card (Baldwin and others, 1956, The Optimum Strategy "
            "in Blackjack). Without doubling, splitting and the bonus for a natural, every policy loses to the dealer "
            "on average."
        ),
        seats=1,
        information="imperfect",
        chance=True,
        utility="score",
    ),
    GameSpec(
        name="crazy_eights",
        title="Crazy eights",
        summary="Match the suit or rank of the pile, or play an eight and name a suit; get rid of your cards.",
        entry_point="gymposium.games.cards.crazy_eights:game",
        best_play="Not known.",
        parameters=(
            Parameter(
                name="players",
                default=2,
                low=2,
                high=5,
                help="Number of players; two players get 7 cards each, more players 5.",
            ),
            Parameter(name="max_draw_cards", default=5, low=1, high=52, help="Most cards that may be drawn in a turn."),
            Parameter(
                name="max_turns",
                default=100,
                low=1,
                high=500,
                help="Maximum number of cards that all players play together.",
            ),
            Parameter(
                name="use_special_cards",
                default=False,
                help="Whether a 2 makes the next player draw, a Q skips a player and an A reverses the order.",
            ),
            Parameter(
                name="reshuffle", default=False, help="Whether the pile becomes the stock when the stock is empty."
            ),
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
        summary="Build fireworks together; you see all cards but your own, and players give each other hints.",
        entry_point="gymposium.games.cards.hanabi:game",
        best_play=(
            "Not every deal allows 25 points. Learned policies for two players average more than 24 points with copies "
            "of themselves and far fewer with other partners (Bard and others, 2020, The Hanabi Challenge)."
        ),
        parameters=(
            Parameter(name="players", default=2, low=2, high=5, help="Number of players."),
            Parameter(name="colors", default=5, low=1, high=5, help="Number of colors, each with a stack to build."),
            Parameter(name="ranks", default=5, low=1, high=5, help="Number of ranks in each color."),
            Parameter(
                name="hand_size",
                default=5,
                low=1,
                high=5,
                by_players={4: 4, 5: 4},
                help="Cards of each player; the default is 4 with four or five players.",
            ),
            Parameter(name="max_information_tokens", default=8, low=1, high=8, help="Number of hint tokens."),
            Parameter(
                name="max_life_tokens",
                default=3,
                low=1,
                high=3,
                help="Number of mistakes that end the match with no points.",
            ),
        ),
        examples=(
            {},
            {"players": 4},
            {"colors": 2, "ranks": 3, "hand_size": 2, "max_information_tokens": 3, "max_life_tokens": 1},
        ),
        information="imperfect",
        chance=True,
        utility="cooperative",
    ),
    GameSpec(
        name="solitaire",
        title="Klondike solitaire",
        summary="Build the four suits up from the ace while turning over face-down cards.",
        entry_point="gymposium.games.cards.solitaire:game",
        best_play=(
            "With all cards visible about 82 of 100 deals can be won (Blake and Gent, 2019, The Winnability of "
            "Klondike Solitaire). The best result with hidden cards is not known."
        ),
        seats=1,
        parameters=(
            Parameter(
                name="depth_limit",
                default=150,
                low=32,
                high=1000,
                help="Maximum number of moves and revealed cards, including the 31 at the start.",
            ),
        ),
        examples=({}, {"depth_limit": 60}),
        chance=True,
        utility="score",
    ),
)
