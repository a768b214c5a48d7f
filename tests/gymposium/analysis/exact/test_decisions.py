"""The costliest decisions of a player against its best response."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from gymposium.analysis.exact import Policy, complete_policy, find_best_response, list_costly_decisions, tabulate_policy
from gymposium.analysis.exact.graph import OVER, build_graph
from gymposium.analysis.exact.players import ExactPlayer
from gymposium.analysis.exact.policy import get_move_probabilities
from gymposium.games.registry import load_game
from gymposium.players.random import RandomPlayer

Factory = Callable[..., Any]


def test_costly_decisions_of_random_kuhn_poker() -> None:
    """With the king (2), the second seat passes half of the bets that it would always win: it loses 2 in each of them,
    and a bet comes in the sixth of the deals in which the first seat has the queen, and as often with the jack."""
    policy = tabulate_policy(load_game("kuhn_poker"), RandomPlayer())
    first, *_ = found = list_costly_decisions(policy, find_best_response(policy), 20)
    assert (first.seat, first.view, first.better, first.share) == (1, "2b", "bet", 1.0)
    assert first.cost == pytest.approx(1 / 3)
    assert [decision.cost for decision in found] == sorted((decision.cost for decision in found), reverse=True)


@given(seed=st.integers(0, 10**6), mass=st.sampled_from([1.0, 0.8]), pure=st.booleans())
@settings(max_examples=8)
def test_cost_is_what_a_best_response_loses(make_odds_player: Factory, seed: int, mass: float, pure: bool) -> None:
    game, player = load_game("kuhn_poker"), make_odds_player(seed, mass, pure=pure)
    policy = complete_policy(tabulate_policy(game, player), player)
    response = find_best_response(policy)
    for decision in list_costly_decisions(policy, response, 3):
        state = (decision.seat, decision.view)
        odds, forfeit = get_move_probabilities(policy.table[state])
        assert (decision.odds, decision.forfeit) == (odds, forfeit)
        legal = 1.0 - (1.0 - decision.share) * forfeit
        shares = [
            ((1.0 - decision.share) * p + decision.share * (move == decision.better)) / legal
            for p, move in zip(odds, decision.moves, strict=True)
        ]
        better = replace(policy.table[state], probabilities=tuple(shares), legal_mass=legal)
        changed = find_best_response(Policy(game, "changed", {**policy.table, state: better}))
        seat = 1 - decision.seat
        lost = response.value.seats[seat].mean_return - changed.value.seats[seat].mean_return
        assert decision.cost == pytest.approx(lost, abs=1e-9)
        assert decision.cost > 0.0


@pytest.mark.slow
def test_unexploitable_policy_has_no_costly_decision() -> None:
    game, player = load_game("tic_tac_toe"), ExactPlayer()
    policy = complete_policy(tabulate_policy(game, player), player)
    assert len(policy.table) == 4520
    assert list_costly_decisions(policy, find_best_response(policy), 5) == []


def test_response_wins_from_unreached_positions(make_odds_player: Factory) -> None:
    game, player = load_game("tic_tac_toe"), make_odds_player(3, pure=True)
    policy = complete_policy(tabulate_policy(game, player), player)
    response, positions = find_best_response(policy).policy, build_graph(game).positions
    for seat in (0, 1):
        tried = 0
        for position in positions:
            if position.seat != seat or all(positions[child].returns[seat] < 1.0 for child in position.children):
                continue
            at = position
            while at.seat != OVER:
                side = response if at.seat == seat else policy
                at = positions[at.children[side.table[at.seat, at.view].probabilities.index(1.0)]]
            assert at.returns[seat] == 1.0
            tried += 1
        assert tried > 400
