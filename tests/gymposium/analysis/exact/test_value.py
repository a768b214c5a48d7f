"""Values by traversal, compared with published figures, OpenSpiel and simulated matches."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from open_spiel.python.algorithms.expected_game_score import policy_value

from gymposium.analysis.exact import compute_value, tabulate_policy
from gymposium.errors import GymposiumError
from gymposium.games.registry import load_game
from gymposium.match import MatchJob, play
from gymposium.players.random import RandomPlayer
from gymposium.util.streams import stream

Factory = Callable[..., Any]


@pytest.mark.slow
def test_random_value_at_tic_tac_toe() -> None:
    found = compute_value(tabulate_policy(load_game("tic_tac_toe"), RandomPlayer()))
    first, second = found.seats
    assert (first.win, first.draw, first.loss) == pytest.approx((0.5849, 0.1270, 0.2881), abs=5e-5)
    assert (second.win, second.draw, second.loss) == pytest.approx((0.2881, 0.1270, 0.5849), abs=5e-5)
    assert (found.mean.win, found.mean.draw) == pytest.approx((0.4365, 0.1270), abs=5e-5)
    assert found.mean.mean_return == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(("name", "first"), [("kuhn_poker", 0.125), ("leduc_poker", -0.0781)])
def test_random_value_at_poker(name: str, first: float) -> None:
    found = compute_value(tabulate_policy(load_game(name), RandomPlayer()))
    assert [o.mean_return for o in found.seats] == pytest.approx([first, -first], abs=5e-5)


@given(mine=st.integers(0, 10**6), theirs=st.integers(0, 10**6), pure=st.booleans())
@settings(max_examples=15)
def test_value_matches_openspiel(make_odds_player: Factory, known: Factory, mine: int, theirs: int, pure: bool) -> None:
    game = load_game("kuhn_poker")
    policies = [
        tabulate_policy(game, make_odds_player(mine, pure=pure)),
        tabulate_policy(game, make_odds_player(theirs)),
    ]
    found = compute_value(*policies)
    for seat, order in enumerate((policies, policies[::-1])):
        theirs = [known(policy) for policy in order]
        expected = policy_value(theirs[0].game.new_initial_state(), theirs)
        assert found.seats[seat].mean_return == pytest.approx(expected[seat], abs=1e-12)


@pytest.mark.parametrize(
    ("name", "mass"),
    [
        ("goofspiel(num_cards=3)", 0.6),
        pytest.param("tic_tac_toe", 1.0, marks=pytest.mark.slow),
        pytest.param("tic_tac_toe", 0.9, marks=pytest.mark.slow),
        pytest.param("leduc_poker", 0.95, marks=pytest.mark.slow),
    ],
)
def test_value_matches_simulated_matches(make_odds_player: Factory, name: str, mass: float) -> None:
    """Frequencies and returns of 1,500 matches in each seat within Hoeffding's bound: one run in 10,000 may fail, and
    this one is always the same."""
    game, player, opponent, matches = (
        load_game(name),
        make_odds_player(1, mass),
        make_odds_player(2, 0.97 if mass > 0.9 else mass),
        1500,
    )
    found = compute_value(tabulate_policy(game, player), tabulate_policy(game, opponent))
    low, high = game.utility_range
    bound = math.sqrt(math.log(2 * 8 * 10_000) / (2 * matches))
    for seat, outcome in enumerate(found.seats):
        assert outcome.win + outcome.draw + outcome.loss == pytest.approx(1.0)
        players = [player, opponent] if seat == 0 else [opponent, player]
        seeds = [stream(seat, name, i).getrandbits(48) for i in range(matches)]
        ended = list(play(MatchJob(f"m{i}", game, players, seed=seed) for i, seed in enumerate(seeds)))
        results = [played.result(seat) for played in ended]
        for kind, expected in [("win", outcome.win), ("draw", outcome.draw), ("loss", outcome.loss)]:
            assert abs(results.count(kind) / matches - expected) <= bound
        mean = sum(played.returns[seat] for played in ended) / matches
        assert abs(mean - outcome.mean_return) <= bound * (high - low)
        assert mass == 1.0 or any(played.ending.seat == seat for played in ended)


def test_policies_of_different_games_are_an_error() -> None:
    one, other = (tabulate_policy(load_game(name), RandomPlayer()) for name in ("kuhn_poker", "leduc_poker"))
    with pytest.raises(GymposiumError, match="are for different games"):
        compute_value(one, other)


def test_untabulated_seat_has_no_value() -> None:
    with pytest.raises(GymposiumError, match="Tabulate it for this seat"):
        compute_value(tabulate_policy(load_game("kuhn_poker"), RandomPlayer(), seats=[0]))
