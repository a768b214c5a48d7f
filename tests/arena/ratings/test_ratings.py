"""Ratings: random play is 0, match order, seats, names and repeated games do not matter, and bounds replace ratings
that the data do not determine."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from gymposium_arena.outcomes import MatchOutcome, drop_duplicates
from gymposium_arena.ratings.bootstrap import compute_interval

from .made_up import match, rated, rated_jointly, tournament, won

STRENGTHS = {"random": 0.0, "weak": 0.5, "middling": 1.0, "strong": 1.5}
NAMES = tuple(STRENGTHS)


@pytest.fixture(scope="module")
def outcomes() -> list[MatchOutcome]:
    return [*tournament(STRENGTHS, 12, seed=1)]


def test_random_is_zero_and_400_points_are_ten_to_one() -> None:
    sure = [match("good", "random", paid=(1.0, -1.0), deal=str(i)) for i in range(1000)]
    now_and_then = [match("good", "random", paid=(-1.0, 1.0), deal=str(i)) for i in range(100)]
    ratings = rated(sure + now_and_then, ("good", "random"))
    assert ratings.anchor == "random"
    assert ratings.values.tolist() == [pytest.approx(400.0, abs=2.0), 0.0]
    assert not ratings.samples[:, 1].any()


def test_first_player_is_zero_without_random() -> None:
    ratings = rated(won("b", "a", 3), ("a", "b"))
    assert (ratings.anchor, ratings.values[0]) == ("a", 0.0)


@given(st.randoms(use_true_random=False))
@settings(max_examples=5)
def test_ratings_do_not_depend_on_match_or_seat_order(outcomes: list[MatchOutcome], rng: object) -> None:
    shuffled = [*outcomes]
    rng.shuffle(shuffled)  # type: ignore[attr-defined]
    turned = [replace(one, players=one.players[::-1], utilities=one.utilities[::-1]) for one in shuffled]
    first = rated(drop_duplicates(outcomes), NAMES)
    for other in (shuffled, turned):
        again = rated(drop_duplicates(other), NAMES)
        assert again.values.tolist() == first.values.tolist()
        assert again.samples.tolist() == first.samples.tolist()


@given(st.permutations(["x", "a/b", "lm:y"]))
@settings(max_examples=5)
def test_ratings_do_not_depend_on_names(outcomes: list[MatchOutcome], names: list[str]) -> None:
    called = dict(zip(NAMES, ["random", *names], strict=True))
    renamed = [replace(one, players=tuple(called[name] for name in one.players)) for one in outcomes]
    again, first = rated(renamed, [*called.values()]), rated(outcomes, NAMES)
    assert again.values.tolist() == first.values.tolist()
    assert again.samples.tolist() == first.samples.tolist()


def test_long_ladders_are_not_compressed() -> None:
    """A virtual draw for each pairing, instead of each player, would leave 1,300 of these 3,000 points."""
    ladder = [f"rung {i}" for i in range(11)]
    matches = []
    for (i, lower), (j, upper) in combinations(enumerate(ladder), 2):
        if j > i + 1:
            matches += won(upper, lower, 1)
            continue
        matches += [match(upper, lower, paid=(1.0, -1.0), deal=str(deal)) for deal in range(85)]
        matches += [match(lower, upper, paid=(1.0, -1.0), deal=str(deal)) for deal in range(15)]
    ratings = rated(matches, ladder)
    assert (np.diff(ratings.values) > 0).all()
    assert ratings.values[-1] == pytest.approx(10 * 400 * math.log10(85 / 15), rel=0.1)


def test_undefeated_players_have_only_a_lower_bound() -> None:
    few, many = (rated(won("better", "random", deals), ("random", "better")) for deals in (4, 40))
    for ratings in (few, many):
        assert ratings.bounds == ("interval", "at least")
    low_of_few, low_of_many = (float(compute_interval(ratings.samples)[0][1]) for ratings in (few, many))
    # a player who loses 7% of groups wins 40 of 40 with a probability of 1 in 20
    assert 0.0 < low_of_few < low_of_many
    assert 350 < low_of_many < 550


def test_winless_players_do_not_affect_the_others() -> None:
    above = [*tournament({"b": 0.0, "c": 1.0}, 30, seed=2)]
    ratings = rated(
        above + won("b", "random", 9) + won("c", "random", 9) + won("random", "a", 9), ("a", "random", "b", "c")
    )
    assert ratings.bounds == ("at most", "interval", "at least", "at least")
    low, high = compute_interval(ratings.samples[:, 3] - ratings.samples[:, 2])
    assert 0.0 < low < 174 < high < 350  # odds of e to 1


def test_players_unconnected_to_random_are_unrated() -> None:
    ratings = rated(won("a", "random", 5) + won("d", "c", 5), ("random", "a", "c", "d", "nobody"))
    assert ratings.bounds[2:] == (None, None, None)
    assert np.isnan(ratings.values[2:]).all()
    assert np.isnan(ratings.samples[:, 2:]).all()
    assert ratings.values[1] > 0


def test_players_who_only_lost_to_a_third_are_not_compared() -> None:
    ratings = rated(won("a", "random", 5) + won("a", "b", 5), ("random", "a", "b"))
    assert ratings.bounds == ("interval", "at least", None)
    assert math.isnan(ratings.values[2])


def test_repeating_a_game_does_not_change_the_joint_board(outcomes: list[MatchOutcome]) -> None:
    other = [*tournament(dict(zip(NAMES, (0.0, 2.0, -1.0, 0.5), strict=True)), 12, seed=3)]
    twice = other + [replace(one, group=f"again {one.group}", digest=f"again {one.digest}") for one in other]
    first, again = rated_jointly([outcomes, other], NAMES), rated_jointly([outcomes, twice], NAMES)
    assert again.values == pytest.approx(first.values, abs=1e-6)
    alone = rated(outcomes + other, NAMES).values - rated(outcomes + twice, NAMES).values
    assert np.abs(alone).max() > 5  # with equal weights of all matches it does


def test_joint_ratings_lie_between_their_games(outcomes: list[MatchOutcome]) -> None:
    backwards = [*tournament({name: -strength for name, strength in STRENGTHS.items()}, 40, seed=4)]
    joint = rated_jointly([outcomes, backwards], NAMES)
    assert (joint.values < rated(outcomes, NAMES).values)[1:].all()
    assert (joint.values > rated(backwards, NAMES).values)[1:].all()


def test_three_player_matches_count_as_pairs(outcomes: list[MatchOutcome]) -> None:
    three = [*tournament(STRENGTHS, 12, seed=5, seats=3)]
    assert (np.diff(rated_jointly([outcomes, three], NAMES).values) > 0).all()
