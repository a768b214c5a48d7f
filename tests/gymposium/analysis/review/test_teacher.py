"""Recorded moves beside a teacher's recommendations."""

from __future__ import annotations

import pytest
from tests.gymposium.test_records import matches, parsed

from gymposium import make_player
from gymposium.analysis.review import compare_with_teacher, compute_agreement
from gymposium.analysis.review.judge import choose_judge
from gymposium.analysis.review.match import review_match
from gymposium.games.registry import load_game
from gymposium.players.teaching import CachedTeacher


@pytest.mark.parametrize("policy", ["forfeit", "random", "retry(2)"])
@pytest.mark.parametrize("game", ["tic_tac_toe", "kuhn_poker", "goofspiel(num_cards=3)"])
def test_reviewed_decisions_are_compared(game: str, policy: str) -> None:
    judge, records = choose_judge(load_game(game)), [parsed(one) for one in matches(game, policy, n=8)]
    compared = compare_with_teacher(CachedTeacher(make_player("mcts-5")), records)
    for record in records:
        decisions = review_match(record, judge).decisions
        assert [(one.step, one.seat) for one in decisions] == [*compared[record.id]]
        for one in decisions:
            found = compared[record.id][one.step, one.seat]
            assert (found.move is None) == one.failed
            assert found.move is None or found.move in found.recommended.moves
            assert found.agrees == (None if one.failed else found.move in found.recommended.likeliest)


def test_agreement_counts_moves_with_a_recommendation() -> None:
    records = [parsed(one) for one in matches("tic_tac_toe", n=20)]
    compared = compare_with_teacher(CachedTeacher(make_player("exact")), records)
    decisions = [one for match in compared.values() for one in match.values()]
    moves = [one for one in decisions if one.move is not None]
    agreed = sum(one.move in one.recommended.likeliest for one in moves)
    assert compute_agreement(decisions) == {"clumsy": agreed / len(moves)}
    assert compute_agreement([one for one in decisions if one.move is None]) == {}
