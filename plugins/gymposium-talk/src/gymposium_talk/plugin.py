"""The plugin gymposium-talk: games in which players talk, and players that talk by a script."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from gymposium import GameSpec, OpponentSpec, Parameter, hookimpl

_Talk = partial(GameSpec, family="talk", utility="general_sum", free_text=True, talk=True)
_ROUNDS = Parameter(name="rounds", default=5, low=1, high=100, help="Number of rounds.")
_MESSAGES = Parameter(name="messages", default=1, low=0, high=5, help="Messages of each player in a round.")


@hookimpl
def gymposium_games() -> Iterable[GameSpec]:
    """Yield the games."""
    yield _Talk(
        name="prisoners_dilemma",
        title="Prisoner's dilemma",
        summary="Talk, then cooperate or defect, for several rounds.",
        entry_point="gymposium_talk.dilemmas:prisoners_dilemma",
        dynamics="simultaneous",
        parameters=(_ROUNDS, _MESSAGES),
        examples=({}, {"rounds": 2, "messages": 2}),
        best_play="Defecting in every round is the only equilibrium. Two players who always cooperate get 3 each.",
    )
    yield _Talk(
        name="three_player_dilemma",
        title="Three-player dilemma",
        summary="Talk, then cooperate with both others or defect against both, for several rounds.",
        entry_point="gymposium_talk.dilemmas:three_player_dilemma",
        dynamics="simultaneous",
        seats=3,
        parameters=(_ROUNDS, _MESSAGES),
        examples=({}, {"rounds": 2, "messages": 2}),
        best_play="Defecting in every round is the only equilibrium and pays 2 per round. Three players who always "
        "cooperate get 6 each.",
    )
    yield _Talk(
        name="stag_hunt",
        title="Stag hunt",
        summary="Talk, then hunt the stag together or a hare alone.",
        entry_point="gymposium_talk.dilemmas:stag_hunt",
        dynamics="simultaneous",
        parameters=(Parameter(name="players", default=2, low=2, high=5, help="Number of players."), _ROUNDS, _MESSAGES),
        examples=({}, {"players": 3, "rounds": 2}),
        best_play="All hunting the stag is the best equilibrium, and all hunting hares the safe one.",
    )
    yield _Talk(
        name="public_goods",
        title="Public goods",
        summary="Talk, then give coins to the public, where they grow and are shared.",
        entry_point="gymposium_talk.dilemmas:public_goods",
        null_agents={"zero": "Giving nothing is best in a single round."},
        dynamics="simultaneous",
        seats=3,
        parameters=(
            Parameter(name="players", default=3, low=2, high=5, help="Number of players."),
            _ROUNDS,
            _MESSAGES,
            Parameter(name="factor", default=1.6, low=1.1, high=5.0, help="What gifts are multiplied by."),
        ),
        examples=({}, {"players": 2, "rounds": 2}),
        best_play="While the factor is below the number of players, giving nothing is the only equilibrium, and giving "
        "everything pays all players most.",
    )
    yield _Talk(
        name="rps_with_talk",
        title="Rock, paper, scissors with talk",
        summary="Say what you like, then choose rock, paper or scissors, for several rounds.",
        entry_point="gymposium_talk.contests:rock_paper_scissors",
        dynamics="simultaneous",
        utility="zero_sum",
        parameters=(_ROUNDS, _MESSAGES),
        examples=({}, {"rounds": 2, "messages": 2}),
        best_play="Ignoring what is said and choosing each with probability 1/3 is the only equilibrium. It breaks "
        "even against everybody.",
    )
    yield _Talk(
        name="blotto",
        title="Colonel Blotto",
        summary="Talk, then divide soldiers among battlefields.",
        entry_point="gymposium_talk.contests:blotto",
        dynamics="simultaneous",
        utility="zero_sum",
        parameters=(
            Parameter(name="coins", default=10, low=1, high=15, help="Soldiers of each player."),
            Parameter(name="fields", default=3, low=3, high=5, help="Number of battlefields."),
            Parameter(name="rounds", default=3, low=1, high=100, help="Number of rounds."),
            _MESSAGES,
        ),
        examples=({}, {"coins": 6, "fields": 4, "rounds": 2}),
        best_play="The value is 0. With more soldiers than fields, every allocation is beaten by another one. "
        "Equilibria mix allocations (Borel, 1921; for whole numbers Hart, 2008, Discrete Colonel Blotto and General "
        "Lotto Games).",
    )
    yield _Talk(
        name="ultimatum",
        title="The ultimatum game",
        summary="Talk, then propose how to divide a pie, or accept or reject the proposal.",
        entry_point="gymposium_talk.ultimatum:game",
        null_agents={"first": "The first answer accepts, which is best."},
        parameters=(
            Parameter(name="pie", default=10, low=2, high=100, help="Number of coins."),
            Parameter(name="rounds", default=3, low=1, high=20, help="Number of offers. From 2 on, players haggle."),
            Parameter(name="shrink", default=0.8, low=0.1, high=1.0, help="Factor on the pie for each rejection."),
            _MESSAGES,
        ),
        presets={"one offer": {"rounds": 1}},
        examples=({}, {"rounds": 1, "pie": 20}),
        best_play="A player who cares only for coins accepts every positive offer of the last round, so its proposer "
        "gives 0 or 1. With more rounds, the first offer leaves the other what refusing would be worth and is accepted "
        "(Ståhl, 1972, Bargaining Theory). Its proposer's share approaches 1 / (1 + shrink) as rounds and coins grow "
        "(Rubinstein, 1982). People reject low offers (Güth, Schmittberger and Schwarze, 1982).",
    )


@hookimpl
def gymposium_opponents() -> Iterable[OpponentSpec]:
    """Yield the players."""
    yield OpponentSpec(
        name="tit-for-tat",
        form="tit-for-tat",
        games=("prisoners_dilemma", "three_player_dilemma", "stag_hunt", "public_goods"),
        pattern="tit-for-tat",
        summary="Dilemmas: begin kindly, then do what the others did, and say so before.",
        entry_point="gymposium_talk.scripted:make_tit_for_tat",
    )
