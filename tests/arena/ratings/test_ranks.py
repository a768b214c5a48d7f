"""Ranks with their ranges, groups and cycles."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from gymposium_arena.ratings.bootstrap import draw_deal_weights, make_generator
from gymposium_arena.ratings.comparisons import compare_players
from gymposium_arena.ratings.payoff import compute_payoff, find_cycles
from gymposium_arena.ratings.ranks import FEWEST, Place, assign_places, find_signs, find_surely_above

from .made_up import won


def make_above(n: int, *pairs: tuple[int, int]) -> np.ndarray:
    matrix = np.zeros((n, n), dtype=bool)
    for one, other in pairs:
        matrix[one, other] = True
    return matrix


def test_places_have_ranges_and_groups() -> None:
    ranked = assign_places([10.0, 30.0, 20.0, math.nan], make_above(4, (1, 0)))
    assert ranked == [Place(3, 2, 3, "b"), Place(1, 1, 2, "a"), Place(2, 1, 3, "ab"), None]


def test_groups_when_all_or_none_are_separated() -> None:
    every = make_above(3, (0, 1), (0, 2), (1, 2))
    assert [place and place.group for place in assign_places([3.0, 2.0, 1.0], every)] == ["a", "b", "c"]
    assert [place and (place.best, place.worst) for place in assign_places([3.0, 2.0, 1.0], every)] == [
        (1, 1),
        (2, 2),
        (3, 3),
    ]
    assert [place and place.group for place in assign_places([3.0, 2.0, 1.0], make_above(3))] == ["a", "a", "a"]


@given(st.lists(st.booleans(), min_size=21, max_size=21))
def test_only_inseparable_players_share_a_letter(apart: list[bool]) -> None:
    upper = np.zeros((7, 7), dtype=bool)
    upper[np.triu_indices(7, 1)] = apart
    ranked = assign_places([7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0], upper)
    for one, first in enumerate(ranked):
        for other, second in enumerate(ranked[one + 1 :], start=one + 1):
            assert first is not None
            assert second is not None
            assert bool(set(first.group) & set(second.group)) == (not upper[one, other])


def test_multiple_comparisons_are_corrected() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(4000, 30))
    assert find_signs(noise[:, :1] + 2.2).tolist() == [1]
    assert find_signs(noise[:, :1] - 2.2).tolist() == [-1]
    assert find_signs(noise[:, :1] + 1.7).tolist() == [0]
    assert find_signs(noise + 2.2).tolist() == [0] * 30
    assert find_signs(noise + 4.0).tolist() == [1] * 30
    assert find_signs(np.full((10, 2), np.nan)).tolist() == [0, 0]


def test_unrated_players_are_above_no_one() -> None:
    samples = np.array([[0.0, 5.0, np.nan]] * 10) + np.arange(10)[:, None] * [0.0, 0.1, 0.1]
    enough = np.array([FEWEST, FEWEST, 100])
    assert find_surely_above(samples, enough).tolist() == make_above(3, (1, 0)).tolist()
    assert not find_surely_above(samples, np.array([FEWEST, FEWEST - 1, 100])).any()


def find_cycles_with_deals(deals: int) -> list[list[str]]:
    names = ("rock", "paper", "scissors", "well")
    outcomes = won("rock", "scissors", deals) + won("scissors", "paper", deals) + won("paper", "rock", deals)
    game = compare_players(outcomes + won("well", "rock", deals), names)
    payoff = compute_payoff(game, draw_deal_weights(make_generator(0, "d"), 500, deals), make_generator(0, "p"))
    return [[names[i] for i in cycle] for cycle in find_cycles(payoff.beats)]


def test_rock_paper_scissors_is_a_cycle_if_certain() -> None:
    assert find_cycles_with_deals(20) == [["rock", "scissors", "paper"]]
    assert find_cycles_with_deals(2) == []


@pytest.mark.parametrize(
    ("beats", "expected"),
    [
        (make_above(4, (0, 1), (1, 2), (2, 3)), []),
        (make_above(5, (0, 1), (1, 2), (2, 3), (3, 0), (3, 4)), [(0, 1, 2, 3)]),
        (make_above(6, (0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (2, 3)), [(0, 1, 2), (3, 4, 5)]),
        (make_above(4, (0, 1), (1, 2), (2, 3), (3, 0), (2, 0)), [(0, 1, 2)]),
    ],
)
def test_each_component_has_a_shortest_cycle(beats: np.ndarray, expected: list[tuple[int, ...]]) -> None:
    assert find_cycles(beats) == expected
