"""Games in which interests agree in part."""

from __future__ import annotations

from gymposium.plugins.specs import GameSpec, Parameter

GAMES = (
    GameSpec(
        name="coin_game",
        title="The coin game",
        summary="Collect coins of your colour and of the other's, which you have to guess; both get the same.",
        entry_point="gymposium.games.mixed_motive.coin_game:game",
        seat_names=("x", "o"),
        best_play="Not known.",
        parameters=(
            Parameter(name="rows", default=8, low=2, high=10, help="Rows of the board."),
            Parameter(name="columns", default=8, low=2, high=10, help="Columns of the board."),
            Parameter(
                name="episode_length", default=20, low=2, high=200, help="Moves of both players together, then it ends."
            ),
            Parameter(name="num_coins_per_color", default=4, low=1, high=20, help="Coins of each colour."),
            Parameter(
                name="num_extra_coin_colors", default=1, low=1, high=8, help="Colours that are nobody's, and cost."
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
        summary="Agree on who gets what of a pool that is worth something else to each.",
        entry_point="gymposium.games.mixed_motive.bargaining:game",
        best_play=(
            "The match is general-sum: among agreements that leave nobody better off without the other worse off, "
            "which one is fair is a matter of taste (Nash, 1950, The Bargaining Problem, takes the greatest product). "
            "The pools are those of Lewis and others, 2017, Deal or No Deal?"
        ),
        parameters=(
            Parameter(
                name="max_turns", default=10, low=2, high=30, help="Offers of both players together, then it ends."
            ),
            Parameter(
                name="discount",
                default=1.0,
                low=0.1,
                high=1.0,
                help="What results are multiplied by for each turn after the second.",
            ),
            Parameter(
                name="prob_end",
                default=0.0,
                low=0.0,
                high=0.9,
                help="Probability that the match ends after each offer from the second on.",
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
        summary="Share out a pool by proposals, with words that mean what the two of you make of them.",
        entry_point="gymposium.games.mixed_motive.negotiation:game",
        best_play=(
            "As in bargaining. Whether talk that costs nothing comes to mean something was the question of Cao and "
            "others, 2018, Emergent Communication through Negotiation."
        ),
        parameters=(
            Parameter(name="num_items", default=3, low=1, high=3, help="Kinds of things in the pool."),
            Parameter(name="enable_utterances", default=True, help="Whether a word is said with each proposal."),
            Parameter(name="num_symbols", default=5, low=2, high=10, help="Letters that words are made of."),
            Parameter(name="utterance_dim", default=3, low=1, high=3, help="Letters of a word."),
        ),
        examples=({}, {"enable_utterances": False}, {"num_items": 2, "num_symbols": 4, "utterance_dim": 1}),
        information="imperfect",
        chance=True,
        utility="general_sum",
    ),
)
