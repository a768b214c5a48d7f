"""Transcripts show the seat's positions, replies and the ending of any match."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from gymposium.errors import BadReward
from gymposium.games.registry import load_game
from gymposium_agents.judge.transcript import TranscriptPart, make_transcript

from .played import ScriptedPlayer, trajectory

GAMES = ("tic_tac_toe", "kuhn_poker", "goofspiel(num_cards=4)", "hearts", "2048", "blackjack", "liars_dice")
QUICK = ScriptedPlayer(["a1", "b1", "c1"])
OTHER = ScriptedPlayer(["a2", "b2"])
LOST = "Result for the player: loss. The match paid -1."


@settings(max_examples=40)
@given(
    game=st.sampled_from(GAMES),
    policy=st.sampled_from(["forfeit", "random", "retry(2)", "penalty(0.5,3)"]),
    fails=st.sampled_from([0.0, 0.05, 0.4]),
    seed=st.integers(0, 2**32),
    data=st.data(),
)
def test_transcript_holds_observations_and_replies(
    game: str, policy: str, fails: float, seed: int, data: st.DataObject
) -> None:
    seats = load_game(game).seats
    seat = data.draw(st.integers(0, seats - 1))
    mine, others = ScriptedPlayer(fails=fails), [ScriptedPlayer(fails=fails / 4) for _ in range(seats - 1)]
    one = trajectory(mine, *others, game=game, seat=seat, seed=seed, player_seed=seed + 1, on_illegal=policy)
    found = make_transcript(one)
    assert [said.text for said in found if said.part == "told"] == mine.told
    assert [said.text for said in found if said.part == "reply"] == [turn.text for turn in one.turns]
    assert len([said for said in found if said.part == "refused"]) == sum(turn.reading != "move" for turn in one.turns)
    assert [said.part for said in found].index("outcome") == len(found) - 1


def last(*said: TranscriptPart) -> list[str]:
    return [one.text for one in said if one.part in ("refused", "outcome")]


@pytest.mark.parametrize(
    ("player", "policy", "expected"),
    [
        (QUICK, "forfeit", ["The match was played to its end. Result for the player: win. The match paid 1."]),
        (
            ScriptedPlayer(["a1", "a2", "hm"]),
            "retry(1)",
            [
                "This is no legal move.",
                "This could not be read as a move.",
                f"The player forfeited the match. {LOST}",
            ],
        ),
        (
            ScriptedPlayer(["hm", "a1", "b1", "c1"]),
            "penalty(0.25)",
            [
                "This could not be read as a move. It cost 0.25.",
                "The match was played to its end. Result for the player: win. The match paid 1.",
            ],
        ),
        (
            ScriptedPlayer(["a1", None]),
            "forfeit",
            [f"The match broke off: it had grown longer than the player can read. {LOST}"],
        ),
    ],
)
def test_ending_is_described(player: ScriptedPlayer, policy: str, expected: list[str]) -> None:
    assert last(*make_transcript(trajectory(player, OTHER, on_illegal=policy))) == expected


def test_replacement_moves_are_described() -> None:
    one = trajectory(ScriptedPlayer(["hm"]), on_illegal="random")
    [played] = [event.move for event in one.events if event.seat == 0][:1]
    assert (
        last(*make_transcript(one))[0] == f"This could not be read as a move. {played} was played instead, at random."
    )


def test_opponent_forfeits_are_described() -> None:
    one = trajectory(ScriptedPlayer(["a1"]), ScriptedPlayer(["hm"]))
    assert last(*make_transcript(one)) == [
        "An opponent forfeited the match. Result for the player: win. The match paid 1."
    ]


def test_games_without_winners_show_returns_and_report() -> None:
    one = replace(trajectory(ScriptedPlayer(), game="2048"), report={"largest": 64.0, "exact": 0.5})
    [outcome] = last(*make_transcript(one))
    paid = one.utilities[0]
    assert outcome == f"The match was played to its end. The match paid {paid:g}. exact: 0.5. largest: 64."


def test_refuses_trajectories_without_a_seed() -> None:
    with pytest.raises(BadReward, match="has no seed"):
        make_transcript(replace(trajectory(QUICK, OTHER), seed=None))
