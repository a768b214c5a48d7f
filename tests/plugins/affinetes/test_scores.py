"""The score formula of affinetes, with cases computed by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from gymposium_affinetes.scores import compute_score


@pytest.mark.parametrize(
    ("returns", "seat", "utility", "least", "greatest", "expected"),
    [
        ((1, -1), 0, "zero_sum", -1, 1, 1.0),
        ((1, -1), 1, "zero_sum", -1, 1, 0.0),
        ((0, 0), 1, "zero_sum", -1, 1, 0.5),
        ((-1, 1), 1, "zero_sum", -13, 13, 14 / 26),  # leduc: a small win is little more than a draw
        ((19, -19), 0, "zero_sum", -123, 123, 142 / 246),  # gin rummy
        ((-2, 2, -2, 2), 2, "zero_sum", -4, 4, 0.25),  # euchre: by the range, with any number of seats
        ((12, 26, 22, 18), 1, "general_sum", 0, 26, 1.0),  # hearts: by rank
        ((12, 26, 22, 18), 2, "general_sum", 0, 26, 2 / 3),
        ((12, 26, 22, 18), 0, "general_sum", 0, 26, 0.0),
        ((26, 0, 0, 0), 3, "general_sum", 0, 26, 2 / 3),  # seats that tie share the better place
        ((20, 20, 20, 5), 1, "general_sum", 0, 26, 1.0),
        ((3, 5), 0, "general_sum", 0, 10, 0.0),
        ((5, 3), 0, "general_sum", 0, 10, 1.0),
        ((4, 4), 0, "general_sum", 0, 10, 0.5),
        ((0,), 0, "score", -1, 1, 0.5),  # blackjack, a push
        ((1660,), 0, "score", 0, 20480, 1660 / 20480),  # 2048
        ((20500,), 0, "score", 0, 20480, 1.0),
        ((805,), 0, "general_sum", 0, 3220, 0.25),  # solitaire
    ],
)
def test_scores_match_hand_computation(
    returns: tuple[float, ...], seat: int, utility: str, least: float, greatest: float, expected: float
) -> None:
    assert compute_score(returns, seat, utility, least, greatest) == pytest.approx(expected)


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=4), st.sampled_from(["zero_sum", "general_sum", "score"]))
def test_scores_are_monotonic_between_0_and_1(returns: list[int], utility: str) -> None:
    found = [compute_score(returns, seat, utility, -9, 9) for seat in range(len(returns))]
    assert all(0 <= one <= 1 for one in found)
    order = sorted(range(len(returns)), key=returns.__getitem__)
    assert [found[seat] for seat in order] == sorted(found)
