"""The ultimatum game pays what was agreed, in its shrunken worth, and self-interested play is as published."""

import random
from functools import cache

import pytest

from gymposium import load_game
from gymposium.games.protocol import Match
from gymposium.games.rules import RulesMatch


def solve(match: Match) -> tuple[float, ...]:
    """The returns if both maximize their own, and a mover prefers the first of equally good moves."""

    @cache
    def best(state: object) -> tuple[float, ...]:
        here = RulesMatch(match.game, state, [], None, None)
        if not (seats := here.to_move()):
            return here.returns()
        [seat] = seats
        outcomes = []
        for move in here.legal_moves(seat):
            after = here.fork(random.Random(0))
            after.apply({seat: move})
            outcomes.append(best(after.state))
        return max(outcomes, key=lambda returns: returns[seat])

    assert isinstance(match, RulesMatch)
    return best(match.state)


def test_an_accepted_offer_is_paid_and_a_rejected_one_pays_nothing() -> None:
    for answer, paid in (("accept", (7.0, 3.0)), ("reject", (0.0, 0.0))):
        match = load_game("ultimatum(messages=0,rounds=1)").new(1)
        match.apply({0: "give 3"})
        assert match.to_move() == (1,)
        match.apply({1: answer})
        assert match.to_move() == ()
        assert match.returns() == paid


def test_haggling_swaps_the_proposer_and_shrinks_the_pie() -> None:
    match = load_game("ultimatum(messages=0,rounds=3,shrink=0.5)").new(1)
    match.apply({0: "give 1"})
    match.apply({1: "reject"})
    assert "Round 2 of 3. A coin is worth 0.5.\n" in match.observe(0).text
    match.apply({1: "give 4"})
    assert "Player 2 offered to give 4 and keep 6.\n" in match.observe(0).text
    match.apply({0: "accept"})
    assert match.returns() == (2.0, 3.0)


def test_proposer_and_other_speak_in_turn_before_each_offer() -> None:
    match = load_game("ultimatum(rounds=2,messages=2)").new(1)
    speakers = []
    while match.legal_moves(match.to_move()[0]) is None:
        [seat] = match.to_move()
        speakers.append(seat)
        match.apply({seat: "Half?"})
    assert speakers == [0, 1, 0, 1]
    match.apply({0: "give 0"})
    match.apply({1: "reject"})
    assert match.to_move() == (1,)
    assert match.legal_moves(1) is None


@pytest.mark.parametrize(
    ("name", "returns"),
    [
        ("ultimatum(messages=0,rounds=1)", (10.0, 0.0)),
        ("ultimatum(messages=0,rounds=2,shrink=0.5)", (5.0, 5.0)),
        ("ultimatum(messages=0,rounds=3,shrink=0.5,pie=20)", (15.0, 5.0)),
    ],
)
def test_backward_induction_gives_the_known_shares(name: str, returns: tuple[float, float]) -> None:
    assert solve(load_game(name).new(1)) == returns
