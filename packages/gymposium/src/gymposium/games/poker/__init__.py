"""Poker games. `GAMES` lists their specs."""

from __future__ import annotations

from gymposium.plugins.specs import GameSpec, Parameter

GAMES = (
    GameSpec(
        name="kuhn_poker",
        title="Kuhn poker",
        summary="Three cards, one bet: the smallest poker.",
        entry_point="gymposium.games.poker.kuhn_poker:game",
        best_play=(
            "In equilibrium the first seat loses 1/18 chip per match. It has a family of equilibrium policies, the "
            "second seat exactly one (Kuhn, 1950, A Simplified Two-Person Poker)."
        ),
        information="imperfect",
        chance=True,
    ),
    GameSpec(
        name="leduc_poker",
        title="Leduc poker",
        summary="Six cards, two betting rounds, one public card.",
        entry_point="gymposium.games.poker.leduc_poker:game",
        best_play=(
            "In equilibrium the first seat loses about 0.0855 chips per match (`cfr-300`). The game is from Southey "
            "and others, 2005, Bayes' Bluff."
        ),
        information="imperfect",
        chance=True,
    ),
    GameSpec(
        name="universal_poker",
        title="Texas hold'em",
        summary="One hand: two private cards, five community cards and four betting rounds.",
        entry_point="gymposium.games.poker.universal_poker:game",
        best_play=(
            "Heads-up limit hold'em is essentially solved (Bowling and others, 2015, Heads-Up Limit Hold'em Poker Is "
            "Solved) for stacks that never run out. In no-limit hold'em, programs beat professionals (Moravčík and "
            "others, 2017, DeepStack; Brown and Sandholm, 2018, Libratus)."
        ),
        parameters=(
            Parameter(
                name="players", default=2, low=2, high=6, help="Players at the table; at most 4 with betting=limit."
            ),
            Parameter(
                name="betting",
                default="nolimit",
                choices=("nolimit", "limit"),
                help="Pot-sized raises and all-in (nolimit), or raises of fixed size and number (limit).",
            ),
            Parameter(
                name="stack", default=200, low=40, high=20_000, help="Chips of each player; only with betting=nolimit."
            ),
            Parameter(name="small_blind", default=1, low=1, high=10, help="Half the big blind, in chips."),
        ),
        examples=({}, {"betting": "limit"}, {"players": 3, "stack": 60}, {"players": 6, "small_blind": 5}),
        information="imperfect",
        chance=True,
    ),
)
