"""Replaying a record decision by decision yields each part once, in order."""

from __future__ import annotations

import pytest

from gymposium.errors import GymposiumError
from gymposium.games.protocol import CHANCE, Event, Match
from gymposium.records import replay_decisions

from .test_records import POLICIES, matches, parsed


def position(match: Match) -> tuple[tuple[int, ...], list[Event]]:
    return match.to_move(), list(match.events)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("game", ["tic_tac_toe", "leduc_poker", "goofspiel(num_cards=4)"])
def test_decisions_yield_each_part_once_in_order(game: str, policy: str) -> None:
    for played in matches(game, policy, n=8, share=0.4):
        record = parsed(played)
        events, replies = [], {seat: [] for seat in range(len(record.players))}
        for decision in replay_decisions(record, position):
            events += [Event(CHANCE, outcome) for outcome in decision.chance]
            assert decision.seen == (decision.seats, events)
            events += [Event(seat, move) for seat, move in decision.moves.items()]
            for seat, heard in decision.replies.items():
                replies[seat] += [(reply.turn.reading, reply.turn.text) for reply in heard]
                assert [reply.reason is None for reply in heard] == [True] + [False] * (len(heard) - 1)
                accepted = [reply.turn.reading == "move" for reply in heard]
                if decision.moves and policy != "random":
                    assert accepted == [False] * (len(heard) - 1) + [True]
                elif decision.moves:  # a move followed at once, whatever the reply was
                    assert len(heard) == 1
        assert events == record.events
        for seat, heard in replies.items():
            assert heard == [(turn["reading"], turn["text"]) for turn in record.turns if turn["seat"] == seat]


def test_walk_stops_at_the_first_illegal_event() -> None:
    record = parsed(matches("tic_tac_toe", share=0.0)[0])
    record.events[2] = record.events[0]
    with pytest.raises(GymposiumError, match="event 2 is"):
        list(replay_decisions(record, position))
    walked = replay_decisions(record, position)
    assert [next(walked).moves for _ in range(2)] == [dict([event]) for event in record.events[:2]]
