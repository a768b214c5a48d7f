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
)
