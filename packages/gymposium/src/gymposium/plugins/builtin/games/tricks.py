"""Trick-taking card games."""

from __future__ import annotations

from gymposium.plugins.specs import GameSpec, Parameter

GAMES = (
    GameSpec(
        name="hearts",
        title="Hearts",
        summary="Take no hearts and not the queen of spades, or all of them; four players.",
        entry_point="gymposium.games.tricks.hearts:game",
        seat_names=("North", "East", "South", "West"),
        best_play="Not known.",
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
    GameSpec(
        name="euchre",
        title="Euchre",
        summary="Name trump or pass, then take three of five tricks; four players, two sides.",
        entry_point="gymposium.games.tricks.euchre:game",
        seat_names=("North", "East", "South", "West"),
        best_play="Not known.",
        seats=4,
        parameters=(
            Parameter(name="allow_lone_defender", default=False, help="Defenders too may play without their partner."),
            Parameter(name="stick_the_dealer", default=True, help="The dealer names trump if all others have passed."),
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
        summary="Bid how many tricks to take, and take as many; four players, two sides.",
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
        summary="Bid for a contract and play it, or defend against it; four players, two sides.",
        entry_point="gymposium.games.tricks.bridge:game",
        seat_names=("North", "East", "South", "West"),
        best_play=(
            "The play with all cards seen (double dummy) is computed in milliseconds; that is what "
            "`use_double_dummy_result` pays. The auction and the play with hidden cards are not solved."
        ),
        seats=4,
        parameters=(
            Parameter(
                name="dealer", default=0, low=0, high=3, help="Who calls first: 0 North, 1 East, 2 South, 3 West."
            ),
            Parameter(name="dealer_vul", default=False, help="The dealer's side is vulnerable."),
            Parameter(name="non_dealer_vul", default=False, help="The other side is vulnerable."),
            Parameter(
                name="use_double_dummy_result",
                default=False,
                help="Only the auction is played; the tricks are computed, which takes a fifth of a second a deal.",
            ),
        ),
        examples=({}, {"dealer": 1, "dealer_vul": True}),
        information="imperfect",
        chance=True,
    ),
)
