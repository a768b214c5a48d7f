"""Coverage of intervals on few samples. `benchmarks/ratings.py` measures it on many."""

from __future__ import annotations

import numpy as np

from gymposium_arena.ratings.bootstrap import compute_interval, draw_deal_weights, make_generator
from gymposium_arena.ratings.comparisons import compare_players
from gymposium_arena.ratings.fit import POINTS
from gymposium_arena.ratings.payoff import average_payoffs, compute_payoff
from gymposium_arena.ratings.ranks import find_surely_above

from .made_up import match, rated, tournament, won

LADDER = {"random": 0.0, "a": 0.7, "b": 1.4, "c": 2.8, "d": 5.6}
EQUALS = dict.fromkeys(LADDER, 0.0)


def test_rating_intervals_cover_the_truth() -> None:
    held = []
    for seed in range(40):
        ratings = rated([*tournament(LADDER, 15, seed)], [*LADDER])
        low, high = compute_interval(ratings.samples)
        for i, strength in enumerate(LADDER.values()):
            if i:
                lower = ratings.bounds[i] == "at most" or low[i] <= POINTS * strength
                held.append(lower and (ratings.bounds[i] == "at least" or POINTS * strength <= high[i]))
    assert np.mean(held) >= 0.88  # of 160 intervals, which are not independent


def test_equal_players_are_rarely_separated_but_unequal_ones_are() -> None:
    wrong = [
        find_surely_above(rated([*tournament(EQUALS, 15, seed)], [*EQUALS]).samples, np.full(len(EQUALS), 15)).any()
        for seed in range(30)
    ]
    assert np.mean(wrong) <= 0.2
    above = find_surely_above(rated([*tournament(LADDER, 30, seed=1)], [*LADDER]).samples, np.full(len(LADDER), 30))
    assert above[4, :4].all()
    assert above[3, :3].all()
    assert not np.triu(above).any()


def test_shared_luck_widens_intervals() -> None:
    """All matches on a deal end alike, so there are only as many independent results as deals."""
    names = [f"p{i}" for i in range(6)]
    luck = np.random.default_rng(0).random(12) < 0.5
    same = [
        match(one, other, paid=(1.0, -1.0) if first else (-1.0, 1.0), deal=str(deal))
        for deal, first in enumerate(luck)
        for i, one in enumerate(names)
        for other in names[i + 1 :]
    ]
    alone = [match(*m.players, paid=m.utilities, deal=str(number)) for number, m in enumerate(same)]

    def width(outcomes: list) -> float:  # type: ignore[type-arg]
        low, high = compute_interval(rated(outcomes, names).samples[:, 5])
        return float(high - low)

    assert width(same) > 1.5 * width(alone)


def test_point_share_intervals_cover_the_truth() -> None:
    held = []
    for seed in range(40):
        game = compare_players(tournament({"random": 0.0, "a": 2.0}, 20, seed), ("random", "a"))
        payoff = compute_payoff(
            game, draw_deal_weights(make_generator(seed, "deals"), 300, 20), make_generator(seed, "payoff")
        )
        held.append(payoff.low[1, 0] <= 1 / (1 + np.exp(-2.0)) <= payoff.high[1, 0])
    assert np.mean(held) >= 0.85


def test_few_wins_give_wide_payoff_intervals() -> None:
    for deals, least, most in ((2, 0.1, 0.4), (40, 0.9, 0.97)):
        game = compare_players(won("a", "b", deals), ("a", "b"))
        payoff = compute_payoff(
            game, draw_deal_weights(make_generator(0, "deals"), 1000, deals), make_generator(0, "payoff")
        )
        assert least < payoff.low[0, 1] < most
        assert payoff.high[0, 1] == payoff.share[0, 1] == 1.0
        assert payoff.low[1, 0] == 0.0
        assert (payoff.wins[0, 1], payoff.draws[0, 1], payoff.losses[0, 1]) == (2 * deals, 0, 0)


def test_joint_payoff_averages_over_shared_games() -> None:
    players = ("a", "b", "c")
    first = compare_players(won("a", "b", 5) + won("b", "c", 5), players)
    second = compare_players(won("b", "a", 5), players)
    weights = draw_deal_weights(make_generator(0, "deals"), 50, 5)
    joint = average_payoffs([compute_payoff(game, weights, make_generator(0, "payoff")) for game in (first, second)])
    assert (joint.share[0, 1], joint.share[1, 2]) == (0.5, 1.0)
    assert np.isnan(joint.share[0, 2])
    assert joint.wins[0, 1] == joint.losses[0, 1] == 10
