"""Group-relative credit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from gymposium_train.credit import group_advantages

rewards_in_groups = st.lists(st.tuples(st.sampled_from([-1.0, 0.0, 0.5, 1.0]), st.integers(0, 3)), max_size=40)


def test_the_formula_of_grpo() -> None:
    rewards = [1.0, 0.0, 0.0, 1.0, -1.0, 1.0]
    groups = [0, 0, 0, 0, 1, 1]
    found = group_advantages(rewards, groups, normalise=True)
    first = (np.array(rewards[:4]) - 0.5) / (np.std(rewards[:4], ddof=1) + 1e-8)
    second = np.array([-1.0, 1.0]) / (np.std([-1.0, 1.0], ddof=1) + 1e-8)
    assert found == pytest.approx([*first, *second])
    assert group_advantages(rewards, groups, normalise=False) == pytest.approx([0.5, -0.5, -0.5, 0.5, -1.0, 1.0])


@given(drawn=rewards_in_groups, normalise=st.booleans())
def test_groups_are_centred_and_ties_teach_nothing(drawn: list[tuple[float, int]], *, normalise: bool) -> None:
    rewards, groups = [r for r, _ in drawn], [g for _, g in drawn]
    found = group_advantages(rewards, groups, normalise=normalise)
    for group in set(groups):
        mine = [(r, a) for r, g, a in zip(rewards, groups, found, strict=True) if g == group]
        if len({r for r, _ in mine}) == 1:
            assert all(a is None for _, a in mine)
        else:
            assert sum(a for _, a in mine if a is not None) == pytest.approx(0.0, abs=1e-6)
            order = sorted(mine)
            assert [a for _, a in order] == sorted(a for _, a in mine if a is not None)


@given(drawn=rewards_in_groups, shift=st.floats(-5, 5))
def test_a_group_does_not_see_another(drawn: list[tuple[float, int]], shift: float) -> None:
    """Seats of a zero-sum game never share a baseline: what happens in one group leaves the others alone."""
    rewards, groups = [r for r, _ in drawn], [g for _, g in drawn]
    moved = [r + shift if g == 0 else r for r, g in drawn]
    before = group_advantages(rewards, groups, normalise=False)
    after = group_advantages(moved, groups, normalise=False)
    assert [a for a, g in zip(before, groups, strict=True) if g] == [a for a, g in zip(after, groups, strict=True) if g]
