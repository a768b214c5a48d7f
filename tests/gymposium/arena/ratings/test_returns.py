"""Mean returns, which are compared on shared deals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gymposium.arena.outcomes import MatchOutcome
from gymposium.arena.ratings.bootstrap import deal_weights, generator, interval
from gymposium.arena.ratings.ranks import surely_above
from gymposium.arena.ratings.returns import Means, means_of, returns_of

from .made_up import match


def means(outcomes: list[MatchOutcome], players: tuple[str, ...]) -> Means:
    returns = returns_of(outcomes, players)
    return means_of(returns, deal_weights(generator(0, "deals"), 500, len(returns.deals)), (-1e3, 1e3))


def test_players_that_shared_their_deals_are_compared_on_them() -> None:
    luck = np.random.default_rng(1).normal(0.0, 100.0, size=30)
    shared = [
        match(name, paid=(luck[i] + more,), deal=str(i)) for i in range(30) for name, more in (("a", 0.0), ("b", 5.0))
    ]
    unshared = [match(*one.players, paid=one.utilities, deal=f"{one.players} {one.group}") for one in shared]
    paired, apart = means(shared, ("a", "b")), means(unshared, ("a", "b"))
    assert paired.values.tolist() == pytest.approx([luck.mean(), luck.mean() + 5.0])
    low, high = interval(paired.samples[:, 1] - paired.samples[:, 0])
    assert (low, high) == (pytest.approx(5.0), pytest.approx(5.0))
    assert surely_above(paired.samples)[1, 0]
    low, high = interval(apart.samples[:, 1] - apart.samples[:, 0])
    assert low < -20 < 30 < high
    assert not surely_above(apart.samples).any()


def test_an_interval_needs_more_than_one_deal() -> None:
    result = means(
        [match("a", paid=(3.0,)), match("b", paid=(4.0,)), match("b", paid=(5.0,), deal="1")], ("a", "b", "c")
    )
    assert result.values[:2].tolist() == [3.0, 4.5]
    assert math.isnan(result.low[0])
    assert result.low[1] < 4.5 < result.high[1]
    assert math.isnan(result.values[2])
    assert not surely_above(result.samples).any()


def test_partners_and_pairings_have_means_of_their_own() -> None:
    outcomes = [match("a", "b", paid=(3.0, 0.0)), match("b", "a", paid=(1.0, 1.0)), match("c", "a", paid=(0.0, 5.0))]
    returns = returns_of(outcomes, ("a", "b", "c"))
    assert returns.table()[0].tolist() == pytest.approx([math.nan, 2.0, 5.0], nan_ok=True)
    assert returns.table()[1].tolist() == pytest.approx([0.5, math.nan, math.nan], nan_ok=True)
    assert means([match("a", "a", paid=(2.0, 2.0)), match("a", "a", paid=(4.0, 4.0), deal="1")], ("a",)).values == [3.0]


def test_equal_payments_are_no_certainty() -> None:
    outcomes = [match("a", "b", paid=(1.0, -1.0), deal=str(i)) for i in range(4)]
    returns = returns_of(outcomes, ("a", "b"))
    result = means_of(returns, deal_weights(generator(0, "deals"), 500, 4), (-1.0, 1.0))
    assert (result.high[0], result.low[1]) == (1.0, -1.0)
    assert result.low[0] == pytest.approx(-result.high[1])
    assert -0.3 < result.low[0] < -0.1
