"""Mixed-motive games: the seats' interests agree only partly. `GAMES` lists their specs."""

from __future__ import annotations

from gymposium.plugins.specs import GameSpec, Parameter

GAMES = (
    GameSpec(
        name="coin_game",
        title="The coin game",
        summary="Collect coins of your color and of your partner's hidden color; both get the same result.",
        entry_point="gymposium.games.mixed_motive.coin_game:game",
        seat_names=("x", "o"),
        best_play="Not known.",
        parameters=(
            Parameter(name="rows", default=8, low=2, high=10, help="Rows of the board."),
            Parameter(name="columns", default=8, low=2, high=10, help="Columns of the board."),
            Parameter(
                name="episode_length", default=20, low=2, high=200, help="Number of moves of both players in a match."
            ),
            Parameter(name="num_coins_per_color", default=4, low=1, high=20, help="Coins of each color."),
            Parameter(
                name="num_extra_coin_colors",
                default=1,
                low=1,
                high=8,
                help="Colors that belong to no player and cost points.",
            ),
        ),
        examples=(
            {},
            {
                "rows": 4,
                "columns": 5,
                "episode_length": 15,
                "num_coins_per_color": 3,
                "num_extra_coin_colors": 2,
            },
        ),
        information="imperfect",
        chance=True,
        utility="cooperative",
    ),
    GameSpec(
        name="bargaining",
        title="Bargaining",
        summary="Agree how to divide a pool of items that the two players value differently.",
        entry_point="gymposium.games.mixed_motive.bargaining:game",
        best_play=(
            "The game is general-sum and has many Pareto-optimal agreements; which one is fair is a matter of choice "
            "(Nash, 1950, The Bargaining Problem, takes the greatest product). The pools are those of Lewis and "
            "others, 2017, Deal or No Deal?"
        ),
        parameters=(
            Parameter(name="max_turns", default=10, low=2, high=30, help="Maximum number of offers of both players."),
            Parameter(
                name="discount",
                default=1.0,
                low=0.1,
                high=1.0,
                help="Factor on the results for each turn after the second.",
            ),
            Parameter(
                name="prob_end",
                default=0.0,
                low=0.0,
                high=0.9,
                help="Probability that the match ends after an offer, from the second offer on.",
            ),
        ),
        examples=({}, {"max_turns": 6, "discount": 0.9, "prob_end": 0.1}),
        information="imperfect",
        chance=True,
        utility="general_sum",
    ),
    GameSpec(
        name="negotiation",
        title="Negotiation",
        summary="Divide a pool of items by proposals, with messages that have no fixed meaning.",
        entry_point="gymposium.games.mixed_motive.negotiation:game",
        best_play=(
            "As in bargaining. Cao and others (2018, Emergent Communication through Negotiation) study whether such "
            "cheap talk acquires meaning."
        ),
        parameters=(
            Parameter(name="num_items", default=3, low=1, high=3, help="Kinds of items in the pool."),
            Parameter(name="enable_utterances", default=True, help="Whether each proposal comes with a message."),
            Parameter(name="num_symbols", default=5, low=2, high=10, help="Number of letters available for messages."),
            Parameter(name="utterance_dim", default=3, low=1, high=3, help="Length of a message, in letters."),
        ),
        examples=({}, {"enable_utterances": False}, {"num_items": 2, "num_symbols": 4, "utterance_dim": 1}),
        information="imperfect",
        chance=True,
        utility="general_sum",
    ),
)
