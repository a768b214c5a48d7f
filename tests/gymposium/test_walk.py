"""Going through a record decision by decision gives everything in it once, at its place."""

from __future__ import annotations

import pytest

from gymposium.errors import BadRecord, IllegalMove, WrongSeat
from gymposium.games.protocol import CHANCE, Event
from gymposium.records import walk

from .test_records import POLICIES, matches, parsed


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("game", ["tic_tac_toe", "leduc_poker", "goofspiel(num_cards=4)"])
def test_everything_comes_once_and_in_order(game: str, policy: str) -> None:
    for played in matches(game, policy, n=8, share=0.4):
        record = parsed(played)
        events, replies = [], {seat: [] for seat in range(len(record.players))}
        for decision, match in walk(record):
            assert match.to_move() == decision.seats
            assert match.events[: len(record.events)] == record.events[: len(match.events)]
            events += [Event(CHANCE, outcome) for outcome in decision.chance]
            events += [Event(seat, move) for seat, move in decision.moves.items()]
            for seat, said in decision.replies.items():
                replies[seat] += said
                accepted = [reply["reading"] == "move" for reply in said]
                if decision.moves and policy != "random":
                    assert accepted == [False] * (len(said) - 1) + [True]
        assert events == record.events
        for seat, said in replies.items():
            assert said == [turn for turn in record.turns if turn["seat"] == seat]


def test_it_goes_as_far_as_the_rules_do() -> None:
    record = parsed(matches("tic_tac_toe", share=0.0)[0])
    record.events[2] = record.events[0]
    with pytest.raises((BadRecord, IllegalMove, WrongSeat)):
        list(walk(record))
    walked = walk(record)
    assert [next(walked)[0].moves for _ in range(2)] == [dict([event]) for event in record.events[:2]]
