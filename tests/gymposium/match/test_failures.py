"""Policies for failed replies."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, strategies as st

from gymposium import load_game
from gymposium.errors import BadOption
from gymposium.match.ending import Ending
from gymposium.match.failures import FailurePolicy, FailureTally, choose_forfeit, compute_forfeit_returns

policies = st.one_of(
    st.sampled_from([FailurePolicy("forfeit"), FailurePolicy("random")]),
    st.integers(1, 99).map(lambda n: FailurePolicy("retry", n)),
    st.builds(FailurePolicy, st.just("penalty"), st.integers(1, 99), st.floats(1e-12, 1e12)),
)


@given(policies)
def test_policies_round_trip_through_text(policy: FailurePolicy) -> None:
    assert FailurePolicy.parse(str(policy)) == policy


def test_policies_parse_from_text() -> None:
    assert FailurePolicy.parse("penalty(0.5)") == FailurePolicy("penalty", 3, 0.5)
    assert FailurePolicy.parse(" retry(2) ") == FailurePolicy("retry", 2)


@given(st.text())
def test_unknown_policy_error_says_what_to_write(text: str) -> None:
    assume(not text.strip().startswith(("forfeit", "random", "retry", "penalty")))
    with pytest.raises(BadOption, match=r"Use forfeit, random, retry\(n\)"):
        FailurePolicy.parse(text)


@pytest.mark.parametrize(
    "text",
    (
        " |forfeits|forfeit(1)|random(2)|retry|retry()|retry(0)|retry(-1)|retry(1.5)|retry(1,2)|"
        "penalty|penalty(0)|penalty(-1)|penalty(nan)|penalty(inf)|penalty(1,0)|penalty(1,2,3)"
    ).split("|"),
)
def test_invalid_policies_are_refused(text: str) -> None:
    with pytest.raises(BadOption):
        FailurePolicy.parse(text)


def test_retries_are_counted_per_decision_and_seat() -> None:
    tally = FailureTally(FailurePolicy.parse("retry(2)"))
    for _ in range(3):
        tally.next_decision()
        assert [tally.count_failure(seat, can_draw=True) for seat in (0, 0, 1, 0)] == [
            "again",
            "again",
            "again",
            "forfeit",
        ]
    assert tally.penalties == {}


def test_penalties_are_counted_per_match() -> None:
    tally = FailureTally(FailurePolicy.parse("penalty(0.25,2)"))
    outcomes = []
    for _ in range(3):
        tally.next_decision()
        outcomes += [tally.count_failure(1, can_draw=True), tally.count_failure(0, can_draw=False)]
    assert outcomes == ["again"] * 4 + ["forfeit"] * 2
    assert tally.penalties == {0: 0.5, 1: 0.5}


def test_forfeit_and_random_outcomes() -> None:
    assert FailureTally(FailurePolicy("forfeit")).count_failure(0, can_draw=True) == "forfeit"
    assert FailureTally(FailurePolicy("random")).count_failure(0, can_draw=True) == "random"
    assert FailureTally(FailurePolicy("random")).count_failure(0, can_draw=False) == "forfeit"  # nothing to draw from


def test_forfeit_costs_the_minimum_and_others_share_it() -> None:
    assert compute_forfeit_returns(load_game("tic_tac_toe"), 0, (0.0, 0.0)) == (-1.0, 1.0)
    assert compute_forfeit_returns(load_game("leduc_poker"), 1, (0.0, 0.0)) == (13.0, -13.0)
    three = load_game("openspiel:kuhn_poker(players=3)")
    assert compute_forfeit_returns(three, 1, (0.0, 0.0, 0.0)) == (1.0, -2.0, 1.0)
    pd = load_game("openspiel:matrix_pd")  # not zero-sum: the other keeps what it has
    assert compute_forfeit_returns(pd, 0, (0.0, 3.0)) == (pd.utility_range[0], 3.0)


def test_forfeiting_seat_is_drawn_by_seed() -> None:
    failures = [Ending("no legal move", 0), Ending("timed out", 1), Ending("no legal move", 2)]
    endings = [choose_forfeit(failures, seed) for seed in range(60)]
    assert {ending.seat for ending in endings} == {0, 1, 2}
    assert endings == [choose_forfeit(failures, seed) for seed in range(60)]
    assert all({failure.seat for failure in ending.failures} == {0, 1, 2} for ending in endings)
    assert choose_forfeit(failures[1:2], 0) == failures[1]
