"""Fitted strengths match a likelihood over all orders of ties, maximized by SciPy, and choix."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, permutations, product

import numpy as np
import pytest
from choix import ilsr_pairwise_dense
from hypothesis import given, settings, strategies as st
from scipy.optimize import minimize

from gymposium_arena.outcomes import MatchOutcome
from gymposium_arena.ratings.comparisons import Floats, compare_players
from gymposium_arena.ratings.newton import fit_many

from .made_up import match, tournament

NAMES = ("a", "b", "c", "d", "e")


def orders(outcome: MatchOutcome) -> list[tuple[int, ...]]:
    """All orders from best to worst that agree with the outcome."""
    by_worth = sorted(zip(outcome.utilities, outcome.players, strict=True), reverse=True)
    tiers = [[NAMES.index(name) for _, name in tier] for _, tier in groupby(by_worth, key=lambda one: one[0])]
    return [tuple(i for tier in chosen for i in tier) for chosen in product(*(permutations(tier) for tier in tiers))]


def maximize_explicit_likelihood(outcomes: Sequence[MatchOutcome], virtual: float) -> Floats:
    """Maximum-likelihood strengths, with `virtual` wins of each player against each other."""

    def loss(strengths: Floats) -> float:
        total = virtual * np.logaddexp(0.0, strengths[:, None] - strengths[None, :]).sum()
        for outcome in outcomes:
            for order in (ways := orders(outcome)):
                for place in range(len(order) - 1):
                    left = strengths[list(order[place:])]
                    total += (np.logaddexp.reduce(left) - left[0]) / len(ways)
        return float(total)

    best = minimize(loss, np.zeros(len(NAMES)), method="BFGS", options={"gtol": 1e-8}).x
    return np.asarray(best - best.mean())


def seated(seats: st.SearchStrategy[int]) -> st.SearchStrategy[MatchOutcome]:
    return seats.flatmap(
        lambda n: st.builds(
            lambda order, paid: match(*order[:n], paid=paid),
            st.permutations(NAMES),
            st.lists(st.integers(0, 2).map(float), min_size=n, max_size=n),
        )
    )


@given(st.lists(seated(st.integers(2, 4)), min_size=1, max_size=12))
@settings(max_examples=25)
def test_fit_matches_explicit_likelihood_with_ties(outcomes: list[MatchOutcome]) -> None:
    expected = maximize_explicit_likelihood(outcomes, 0.2)
    game = compare_players(outcomes, NAMES)
    pairs = game.pairs.sum(axis=0) + 0.2 * (1 - np.eye(len(NAMES)))
    asked, wins = game.asked.sum(axis=0), game.wins.sum(axis=0)
    assert (game.chosen.sum(axis=1).tolist(), game.chosen.sum(axis=0).tolist()) == (
        pytest.approx(asked.tolist()),
        pytest.approx(wins.tolist()),
    )
    assert fit_many(pairs[None], game.sets, asked[None], wins[None])[0] == pytest.approx(expected, abs=1e-4)


@given(st.lists(seated(st.just(2)), min_size=1, max_size=12))
@settings(max_examples=25)
def test_two_player_fit_matches_choix(outcomes: list[MatchOutcome]) -> None:
    expected = maximize_explicit_likelihood(outcomes, 0.2)
    pairs = compare_players(outcomes, NAMES).points.sum(axis=0) + 0.2 * (1 - np.eye(len(NAMES)))
    fitted = fit_many(pairs[None])[0]
    assert fitted == pytest.approx(expected, abs=1e-4)
    assert fitted == pytest.approx(ilsr_pairwise_dense(pairs, max_iter=10_000, tol=1e-9), abs=1e-7)


@given(st.lists(st.lists(st.floats(1e-2, 1e4), min_size=12, max_size=12), min_size=1, max_size=6))
@settings(max_examples=40)
def test_batched_fits_match_single_fits(counts: list[list[float]]) -> None:
    pairs = np.zeros((len(counts), 4, 4))
    pairs[:, ~np.eye(4, dtype=bool)] = counts
    together = fit_many(pairs, start=np.array([3.0, -1.0, -1.0, -1.0]))
    for one, alone in zip(together, pairs, strict=True):
        between = alone + alone.T
        expected = between / (1 + np.exp(one[None, :] - one[:, None]))
        np.fill_diagonal(expected, 0.0)
        assert alone.sum(axis=1) == pytest.approx(expected.sum(axis=1), rel=1e-4, abs=1e-6)


def test_strengths_are_recovered_from_many_matches() -> None:
    true = {"a": -1.0, "b": -0.4, "c": 0.0, "d": 0.3, "e": 1.1}
    for seats in (2, 3):
        game = compare_players(tournament(true, 150, seed=seats, seats=seats), NAMES)
        pairs, asked, wins = game.pairs.sum(axis=0), game.asked.sum(axis=0), game.wins.sum(axis=0)
        fitted = fit_many(pairs[None], game.sets, asked[None], wins[None])[0]
        assert fitted == pytest.approx(list(true.values()), abs=0.2)


def test_forfeits_rank_last_despite_payments() -> None:
    game = compare_players([match("a", "b", "c", paid=(5.0, 1.0, 1.0), forfeit=0)], NAMES)
    assert game.points[0, 0].tolist() == [0.0] * 5
    assert game.points[0, 1, 0] == game.points[0, 2, 0] == 1.0
    assert game.points[0, 1, 2] == game.points[0, 2, 1] == 0.5
