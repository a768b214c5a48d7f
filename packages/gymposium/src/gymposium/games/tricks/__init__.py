"""Trick-taking card games. `GAMES` lists their specs."""

from __future__ import annotations

from gymposium.plugins.specs import GameSpec, Parameter

GAMES = (
    GameSpec(
        name="hearts",
        title="Hearts",
        summary="Avoid hearts and the queen of spades, or take all of them; four players.",
        entry_point="gymposium.games.tricks.hearts:game",
        seat_names=("North", "East", "South", "West"),
        best_play="Not known.",
        seats=4,
        parameters=(
            Parameter(
                name="pass_cards",
                default=True,
                help="Whether players pass three cards, in a direction drawn at random.",
            ),
            Parameter(
                name="no_pts_on_first_trick",
                default=True,
                help="Whether hearts and Qs are barred from the first trick.",
            ),
            Parameter(
                name="can_lead_any_club", default=False, help="Whether the first lead may be any club, not only 2c."
            ),
            Parameter(name="jd_bonus", default=False, help="Whether taking Jd removes 10 points."),
            Parameter(name="avoid_all_tricks_bonus", default=False, help="Whether taking no trick removes 5 points."),
            Parameter(
                name="must_break_hearts", default=True, help="Whether hearts cannot be led before they are broken."
            ),
            Parameter(name="qs_breaks_hearts", default=True, help="Whether Qs breaks hearts as a heart does."),
            Parameter(
                name="can_lead_hearts_instead_of_qs",
                default=False,
                help="Whether a player with only hearts and Qs may lead unbroken hearts.",
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
    GameSpec(
        name="euchre",
        title="Euchre",
        summary="Name trump or pass, then take three of five tricks; four players in two partnerships.",
        entry_point="gymposium.games.tricks.euchre:game",
        seat_names=("North", "East", "South", "West"),
        best_play="Not known.",
        seats=4,
        parameters=(
            Parameter(
                name="allow_lone_defender", default=False, help="Whether defenders may also play without their partner."
            ),
            Parameter(
                name="stick_the_dealer",
                default=True,
                help="Whether the dealer must name trump after all others have passed.",
            ),
        ),
        examples=(
            {},
            {"allow_lone_defender": True},
            {"stick_the_dealer": False},
        ),
        information="imperfect",
        chance=True,
    ),
    GameSpec(
        name="spades",
        title="Spades",
        summary="Bid a number of tricks, then take that many; four players in two partnerships.",
        entry_point="gymposium.games.tricks.spades:game",
        seat_names=("North", "East", "South", "West"),
        best_play="Not known.",
        seats=4,
        information="imperfect",
        chance=True,
        utility="general_sum",
    ),
    GameSpec(
        name="bridge",
        title="Contract bridge",
        summary="Bid for a contract, then play it or defend against it; four players in two partnerships.",
        entry_point="gymposium.games.tricks.bridge:game",
        seat_names=("North", "East", "South", "West"),
        best_play=(
            "Play with all cards visible (double dummy) is computed in milliseconds; `use_double_dummy_result` scores "
            "that result. The auction and the play with hidden cards are not solved."
        ),
        seats=4,
        parameters=(
            Parameter(
                name="dealer", default=0, low=0, high=3, help="The first caller: 0 North, 1 East, 2 South, 3 West."
            ),
            Parameter(name="dealer_vul", default=False, help="Whether the dealer's side is vulnerable."),
            Parameter(name="non_dealer_vul", default=False, help="Whether the other side is vulnerable."),
            Parameter(
                name="use_double_dummy_result",
                default=False,
                help="Whether to play only the auction and compute the tricks (about 0.2 seconds per deal).",
            ),
        ),
        examples=({}, {"dealer": 1, "dealer_vul": True}),
        information="imperfect",
        chance=True,
    ),
)
