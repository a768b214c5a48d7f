"""The best response and exploitability: published figures and OpenSpiel's own algorithms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from open_spiel.python.algorithms import exploitability as openspiel_exploitability
from open_spiel.python.algorithms.best_response import BestResponsePolicy

from gymposium.analysis.exact import (
    Policy,
    compute_exploitability,
    compute_optima_against_random,
    compute_value,
    find_best_response,
    measure_player,
    tabulate_policy,
)
from gymposium.errors import GymposiumError
from gymposium.games.registry import load_game
from gymposium.players.distribution import MoveDistribution
from gymposium.players.protocol import Ask
from gymposium.players.random import RandomPlayer

Factory = Callable[..., Any]


class SampledPlayer(RandomPlayer):
    """Random play as it looks from so many replies."""

    def __init__(self, samples: int) -> None:
        self.samples = samples

    def distributions(self, asks: Sequence[Ask]) -> list[MoveDistribution]:
        found = []
        for ask, uniform in zip(asks, super().distributions(asks), strict=True):
            drawn = Counter(ask.rng.choices(uniform.moves, k=self.samples))
            odds = tuple(drawn[move] / self.samples for move in uniform.moves)
            found.append(MoveDistribution(uniform.moves, odds, 1.0, self.samples))
        return found


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("kuhn_poker", 0.5, 0.4167),
        ("leduc_poker", 2.0875, 2.6597),
        ("liars_dice(dice_sides=4)", 0.6837, 0.6264),
        ("tic_tac_toe", 0.9948, 0.9249),
    ],
)
def test_best_response_to_random_play_matches_published_values(name: str, first: float, second: float) -> None:
    response = find_best_response(tabulate_policy(load_game(name), RandomPlayer()))
    assert [o.mean_return for o in response.value.seats] == pytest.approx([first, second], abs=1e-4)
    assert response.exploitability == pytest.approx((first + second) / 2, abs=1e-4)


def test_exploitability_of_uniform_kuhn_poker() -> None:
    assert compute_exploitability(tabulate_policy(load_game("kuhn_poker"), RandomPlayer())) == pytest.approx(11 / 24)


@pytest.mark.slow
def test_best_response_to_random_matches_the_optimum() -> None:
    game = load_game("tic_tac_toe")
    found = find_best_response(tabulate_policy(game, RandomPlayer())).value.mean
    assert found.mean_return == pytest.approx(compute_optima_against_random(game)["best return"].mean_return)


@pytest.mark.parametrize(
    "name",
    [
        "kuhn_poker",
        pytest.param("leduc_poker", marks=pytest.mark.slow),
        pytest.param("liars_dice(dice_sides=4)", marks=pytest.mark.slow),
        "goofspiel(num_cards=3)",
        "goofspiel(num_cards=3,points_order=random)",
        "goofspiel(num_cards=3,imp_info=true)",
        "dark_hex(num_rows=2,num_cols=2)",
    ],
)
@given(seed=st.integers(0, 10**6), pure=st.booleans())
@settings(max_examples=5)
def test_exploitability_matches_openspiel(
    make_odds_player: Factory, known: Factory, name: str, seed: int, pure: bool
) -> None:
    policy = tabulate_policy(load_game(name), make_odds_player(seed, pure=pure))
    theirs = known(policy)
    expected = openspiel_exploitability.exploitability(theirs.game, theirs)
    assert compute_exploitability(policy) == pytest.approx(expected, abs=1e-9)


@given(seed=st.integers(0, 10**6), mass=st.sampled_from([1.0, 0.8]))
@settings(max_examples=5)
def test_no_deterministic_policy_beats_the_best_response(make_odds_player: Factory, seed: int, mass: float) -> None:
    """Forfeits included: all 64 deterministic policies of the first seat of kuhn_poker are tried."""
    policy = tabulate_policy(load_game("kuhn_poker"), make_odds_player(seed, mass))
    found = find_best_response(policy)
    mine = {state: d.moves for state, d in found.policy.table.items() if state[0] == 0}
    got = []
    for choices in product(*(range(len(moves)) for moves in mine.values())):
        table = dict(found.policy.table)
        for (state, moves), choice in zip(mine.items(), choices, strict=True):
            table[state] = MoveDistribution(moves, tuple(float(i == choice) for i in range(len(moves))), 1.0, None)
        got.append(compute_value(Policy(policy.game, "tried", table), policy).seats[0].mean_return)
    assert len(got) == 64
    assert found.value.seats[0].mean_return == pytest.approx(max(got), abs=1e-12)


@given(seed=st.integers(0, 10**6), pure=st.booleans())
@settings(max_examples=15)
def test_best_response_matches_openspiel_in_perfect_information(
    make_odds_player: Factory, known: Factory, seed: int, pure: bool
) -> None:
    game = load_game("clobber(rows=2,columns=3)")
    policy = tabulate_policy(game, make_odds_player(seed, pure=pure))
    found = find_best_response(policy)
    for seat in (0, 1):
        theirs = known(policy)
        expected = BestResponsePolicy(theirs.game, seat, theirs).value(theirs.game.new_initial_state())
        assert found.value.seats[seat].mean_return == pytest.approx(expected, abs=1e-12)


@given(seed=st.integers(0, 10**6), other=st.integers(0, 10**6), mass=st.sampled_from([1.0, 0.8]))
@settings(max_examples=15)
def test_best_response_bounds_other_policies(make_odds_player: Factory, seed: int, other: int, mass: float) -> None:
    """Forfeits included."""
    game = load_game("clobber(rows=2,columns=3)")
    policy = tabulate_policy(game, make_odds_player(seed, mass))
    best = find_best_response(policy).value
    for opponent in (make_odds_player(other), make_odds_player(other, pure=True)):
        for most, got in zip(best.seats, compute_value(tabulate_policy(game, opponent), policy).seats, strict=True):
            assert got.mean_return <= most.mean_return + 1e-12


@pytest.mark.slow
def test_best_response_to_a_pure_policy_never_loses(make_odds_player: Factory) -> None:
    """Tic-tac-toe is a draw, and a response is a policy like any other: it can meet others and be answered."""
    policy = tabulate_policy(load_game("tic_tac_toe"), make_odds_player(5, pure=True))
    response = find_best_response(policy)
    for outcome in response.value.seats:
        assert outcome.mean_return >= 0.0
        assert sorted((outcome.win, outcome.draw, outcome.loss)) == [0.0, 0.0, 1.0], "two pure policies play one match"
    assert all(outcome.mean_return >= 0.0 for outcome in find_best_response(response.policy).value.seats)
    assert 0.0 < compute_value(response.policy).mean.win < 1.0


def test_partial_and_estimated_policies_have_no_best_response(make_odds_player: Factory) -> None:
    game = load_game("kuhn_poker")
    with pytest.raises(GymposiumError, match="seat 1: tabulate both"):
        find_best_response(tabulate_policy(game, make_odds_player(1), seats=[0]))
    with pytest.raises(GymposiumError, match="estimated from samples"):
        find_best_response(tabulate_policy(game, SampledPlayer(16)))


def test_response_to_an_estimate_ignores_sampling_noise() -> None:
    """Random play, counted from few samples, looks exploitable for more than the 11/24 that it is."""
    game, optimum = load_game("kuhn_poker"), 11 / 24
    noisy, held = [], []
    for seed in range(30):
        fit, other = (tabulate_policy(game, SampledPlayer(2), seed=2 * seed + i) for i in (0, 1))
        exact = Policy(game, "fit", {state: replace(found, samples=None) for state, found in fit.table.items()})
        noisy.append(compute_exploitability(exact))
        held.append(compute_exploitability(fit, other))
    assert sum(noisy) / 30 > optimum > sum(held) / 30
    assert measure_player(game, SampledPlayer(4096)).as_played.exploitability == pytest.approx(optimum, abs=0.05)


def test_measure_reports_played_and_restricted_policies(make_odds_player: Factory) -> None:
    found = measure_player(load_game("kuhn_poker"), make_odds_player(1, 0.9)).as_dict()
    assert (found["states"], found["legal_mass"], found["exact"]) == (12, 0.9, False)
    played, alone = found["as_played"], found["restricted"]
    assert isinstance(played, dict)
    assert isinstance(alone, dict)
    assert played["exploitability"] > alone["exploitability"]
    assert alone["exploitability"] == pytest.approx(
        compute_exploitability(tabulate_policy(load_game("kuhn_poker"), make_odds_player(1)))
    )
    assert played["against_random"]["mean_return"] < alone["against_random"]["mean_return"]


def test_general_sum_game_has_no_exploitability() -> None:
    found = measure_player(load_game("openspiel:tiny_hanabi"), RandomPlayer())
    assert found.as_played.response is not None
    assert found.as_played.exploitability is None
    with pytest.raises(GymposiumError, match="not zero-sum"):
        compute_exploitability(found.as_played.policy)
