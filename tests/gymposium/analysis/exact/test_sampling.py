"""Policies estimated from sampled replies, and intervals of their exploitability."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from gymposium.analysis.exact import (
    Policy,
    complete_policy,
    compute_exploitability,
    estimate_exploitability,
    knows_probabilities,
    sample_policy,
    tabulate_policy,
)
from gymposium.analysis.exact.bounds import _compute_lower_return, _compute_upper_return
from gymposium.analysis.exact.graph import build_graph
from gymposium.analysis.exact.response import compute_seat_response
from gymposium.games.registry import load_game
from gymposium.players.grammar import make_player
from gymposium.players.random import RandomPlayer

Factory = Callable[..., Any]


def test_sampling_spends_all_replies_reproducibly(make_odds_player: Factory) -> None:
    game, told = load_game("kuhn_poker"), list[int]()
    found = sample_policy(game, make_odds_player(1, 0.9), 1000, 3, told.append)
    assert found.count == sum(told) == 1000
    assert found.asked == len(found.moves) == 12
    assert found.replies == sample_policy(game, make_odds_player(1, 0.9), 1000, 3).replies
    assert found.replies != sample_policy(game, make_odds_player(1, 0.9), 1000, 4).replies


@pytest.mark.slow
def test_sampled_frequencies_match_the_policy(make_odds_player: Factory) -> None:
    game, player = load_game("kuhn_poker"), make_odds_player(1, 0.9)
    found, true = sample_policy(game, player, 20_000), tabulate_policy(game, player)
    for state, seen in found.policy(forfeits=True).table.items():
        expected, count = true.table[state], len(found.replies[state])
        assert seen.legal_mass == pytest.approx(expected.legal_mass, abs=4 * 0.3 / count**0.5)
        for share, odds in zip(seen.probabilities, expected.probabilities, strict=True):
            assert share == pytest.approx(odds, abs=4 * 0.5 / (count * 0.8) ** 0.5)


def test_folds_partition_the_replies(make_odds_player: Factory) -> None:
    found = sample_policy(load_game("kuhn_poker"), make_odds_player(1, 0.7), 800)
    for forfeits in (False, True):
        counts = [found.policy(forfeits=forfeits, folds=[fold]).table for fold in range(4)]
        assert all(len(fold) == 12 for fold in counts)
    assert found.policy(forfeits=False, folds=[]).table == {}


@pytest.mark.slow
def test_replies_are_allocated_where_most_informative() -> None:
    """Evenly spent replies leave a wider interval."""
    game = load_game("leduc_poker")
    found = sample_policy(game, RandomPlayer(), 6000)
    counts = sorted((len(replies) for replies in found.replies.values()), reverse=True)
    assert counts[0] > 5 * counts[len(found.moves) // 2]
    spread = estimate_exploitability(found, forfeits=False)
    even = replace(found, replies={s: [n % len(m) for n in range(6)] for s, m in found.moves.items()})
    wide = estimate_exploitability(even, forfeits=False)
    assert spread.high - spread.low < wide.high - wide.low


@pytest.mark.parametrize(
    ("mass", "pure"),
    [(0.9, False), pytest.param(1.0, False, marks=pytest.mark.slow), pytest.param(1.0, True, marks=pytest.mark.slow)],
)
def test_interval_covers_the_exact_value(make_odds_player: Factory, mass: float, pure: bool) -> None:
    game, players = load_game("kuhn_poker"), 25
    held = {False: 0, True: 0}
    for seed in range(players):
        player = make_odds_player(seed, mass, pure=pure)
        policy = complete_policy(tabulate_policy(game, player), player)
        found = sample_policy(game, player, 600, seed)
        for forfeits, true in ((False, policy.restrict()), (True, policy)):
            between = estimate_exploitability(found, forfeits=forfeits)
            assert between.high - between.low < 0.5
            assert between.unknown == 0
            held[forfeits] += between.low <= compute_exploitability(true) <= between.high
    assert min(held.values()) >= 0.92 * players


@given(seed=st.integers(0, 10**6), other=st.integers(0, 10**6), dropped=st.sets(st.integers(0, 11), max_size=6))
@settings(max_examples=20)
def test_unknown_states_get_worst_case_bounds(
    make_odds_player: Factory, seed: int, other: int, dropped: set[int]
) -> None:
    """Whatever a player does in the states that are dropped, the bounds hold it."""
    game = load_game("kuhn_poker")
    graph, policy = build_graph(game), tabulate_policy(game, make_odds_player(seed))
    known = {s: found for n, (s, found) in enumerate(sorted(policy.table.items())) if n not in dropped}
    part, whole = (
        Policy(game, "part", known),
        Policy(game, "whole", tabulate_policy(game, make_odds_player(other)).table | known),
    )
    for seat in (0, 1):
        response = compute_seat_response(graph, tabulate_policy(game, make_odds_player(other + 1)), seat).table
        assert (
            _compute_lower_return(graph, part, response, seat)
            <= _compute_lower_return(graph, whole, response, seat) + 1e-12
        )
        most, unknown = _compute_upper_return(graph, part, seat)
        assert most >= compute_seat_response(graph, whole, seat).mean_return - 1e-12
        assert unknown <= len(dropped)
        assert _compute_upper_return(graph, whole, seat) == (
            pytest.approx(compute_seat_response(graph, whole, seat).mean_return),
            0,
        )


@pytest.mark.slow
def test_too_few_replies_leave_states_unknown() -> None:
    found = sample_policy(load_game("leduc_poker"), RandomPlayer(), 40)
    between = estimate_exploitability(found, forfeits=False)
    assert found.asked == found.count == 40
    assert between.unknown > 300
    assert between.low <= 2.3737 <= between.high


def test_detects_players_with_move_probabilities(make_odds_player: Factory) -> None:
    game = load_game("kuhn_poker")
    assert knows_probabilities(game, RandomPlayer())
    assert knows_probabilities(game, make_odds_player(1))
    assert not knows_probabilities(game, make_player("mcts-10"))
