"""Mean returns, compared on shared deals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gymposium.records.scores import estimate_mean
from gymposium_arena.outcomes import MatchOutcome
from gymposium_arena.ratings.bootstrap import draw_deal_weights, make_generator
from gymposium_arena.ratings.ranks import FEWEST
from gymposium_arena.ratings.returns import Means, compute_means, sum_returns

from .made_up import match


def means(outcomes: list[MatchOutcome], players: tuple[str, ...]) -> Means:
    returns = sum_returns(outcomes, players)
    return compute_means(returns, draw_deal_weights(make_generator(0, "deals"), 500, len(returns.deals)), (-1e3, 1e3))


def test_players_are_compared_on_shared_deals() -> None:
    rng = np.random.default_rng(1)
    luck, more = rng.normal(0.0, 100.0, size=30), rng.normal(5.0, 1.0, size=30)
    shared = [
        match(name, paid=(luck[i] + gain,), deal=str(i))
        for i in range(30)
        for name, gain in (("a", 0.0), ("b", more[i]))
    ]
    unshared = [match(*one.players, paid=one.utilities, deal=f"{one.players} {one.group}") for one in shared]
    paired, apart = means(shared, ("a", "b")), means(unshared, ("a", "b"))
    assert paired.values.tolist() == pytest.approx([luck.mean(), (luck + more).mean()])
    margin = paired.margin(1, 0)
    assert 4.0 < margin.low < margin.value < margin.high < 6.0
    assert paired.above.tolist() == [[False, False], [True, False]]
    assert apart.margin(1, 0).low < -20 < 30 < apart.margin(1, 0).high
    assert not apart.above.any()


def test_intervals_require_several_deals() -> None:
    result = means(
        [match("a", paid=(3.0,)), match("b", paid=(4.0,)), match("b", paid=(5.0,), deal="1")], ("a", "b", "c")
    )
    assert result.values[:2].tolist() == [3.0, 4.5]
    assert math.isnan(result.low[0])
    assert result.low[1] < 4.5 < result.high[1]
    assert math.isnan(result.values[2])
    assert not result.above.any()


def test_partners_and_pairings_have_separate_means() -> None:
    outcomes = [match("a", "b", paid=(3.0, 0.0)), match("b", "a", paid=(1.0, 1.0)), match("c", "a", paid=(0.0, 5.0))]
    returns = sum_returns(outcomes, ("a", "b", "c"))
    assert returns.pairing_means()[0].tolist() == pytest.approx([math.nan, 2.0, 5.0], nan_ok=True)
    assert returns.pairing_means()[1].tolist() == pytest.approx([0.5, math.nan, math.nan], nan_ok=True)
    assert means([match("a", "a", paid=(2.0, 2.0)), match("a", "a", paid=(4.0, 4.0), deal="1")], ("a",)).values == [3.0]


def test_constant_payments_still_have_wide_intervals() -> None:
    outcomes = [match("a", "b", paid=(1.0, -1.0), deal=str(i)) for i in range(4)]
    returns = sum_returns(outcomes, ("a", "b"))
    result = compute_means(returns, draw_deal_weights(make_generator(0, "deals"), 500, 4), (-1.0, 1.0))
    assert (result.high[0], result.low[1]) == (1.0, -1.0)
    assert result.low[0] == pytest.approx(-result.high[1])
    assert -0.3 < result.low[0] < -0.1


@pytest.mark.parametrize("deals", range(2, FEWEST + 1))
def test_few_deals_never_separate_players(deals: int) -> None:
    """Not even a player that was better on every deal."""
    jitter = np.random.default_rng(deals).normal(0.0, 1.0, size=(deals, 2))
    outcomes = [
        match(player, paid=(jitter[deal, i] + 50.0 * i,), deal=str(deal))
        for deal in range(deals)
        for i, player in enumerate("ab")
    ]
    assert means(outcomes, ("a", "b")).above[1, 0] == (deals == FEWEST)


@pytest.mark.parametrize("deals", [3, 10, 20])
def test_equal_players_are_rarely_separated(deals: int) -> None:
    """Where one of two was paid twice and the other never, no bootstrap sample is negative."""
    rng, wrong = np.random.default_rng(deals), 0
    for _ in range(40):
        outcomes = [
            match(player, paid=(float(rng.random() < 0.1),), deal=str(deal)) for deal in range(deals) for player in "ab"
        ]
        wrong += bool(means(outcomes, ("a", "b")).above.any())
    assert wrong <= 2


@pytest.mark.parametrize("deals", [2, 20])
def test_constant_returns_have_one_interval_everywhere(deals: int) -> None:
    """As a mean return, as a margin, and as in the tables of `run` and `eval`. 0.1 is a sum that is rounded."""
    outcomes = [
        match(player, paid=(paid,), deal=str(deal))
        for deal in range(deals)
        for player, paid in (("a", 0.0), ("b", 0.1), ("b", 0.1), ("b", 0.1), ("c", 0.0))
    ]
    players = ("a", "b", "c")
    returns = sum_returns(outcomes, players)
    found = compute_means(returns, draw_deal_weights(make_generator(0, "deals"), 500, deals), (0.0, 1.0))
    wanted = estimate_mean([0.1] * deals, (0.0, 1.0))
    assert (found.low[1], found.high[1]) == pytest.approx((wanted.low, wanted.high))
    margin, wanted = found.margin(1, 0), estimate_mean([0.1] * deals, (-1.0, 1.0))
    assert (margin.low, margin.high) == pytest.approx((wanted.low, wanted.high))
    assert found.margin(2, 0).low == -found.margin(2, 0).high < 0.0
    assert not found.above.any()
    itself = found.margin(0, 0)
    assert (itself.value, itself.low, itself.high) == (0.0, 0.0, 0.0)
