"""Group-relative credit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from gymposium_train.credit import group_advantages

group_rewards = st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0]), min_size=1, max_size=40)


def test_the_formula_of_grpo() -> None:
    rewards = [1.0, 0.0, 0.0, 1.0]
    assert group_advantages(rewards, normalise=True) == pytest.approx(
        (np.array(rewards) - 0.5) / (np.std(rewards, ddof=1) + 1e-8)
    )
    assert group_advantages(rewards, normalise=False) == pytest.approx([0.5, -0.5, -0.5, 0.5])
    assert group_advantages([-1.0, 1.0], normalise=False) == pytest.approx([-1.0, 1.0])


@given(rewards=group_rewards, normalise=st.booleans())
def test_groups_are_centred_and_ties_teach_nothing(rewards: list[float], *, normalise: bool) -> None:
    found = group_advantages(rewards, normalise=normalise)
    if len(set(rewards)) == 1:
        assert found is None
        return
    assert found is not None
    assert sum(found) == pytest.approx(0.0, abs=1e-6)
    assert [a for _, a in sorted(zip(rewards, found, strict=True))] == sorted(found)


@given(rewards=group_rewards, scale=st.floats(0.01, 100), shift=st.floats(-5, 5))
def test_normalised_credit_does_not_depend_on_the_scale_of_rewards(
    rewards: list[float], scale: float, shift: float
) -> None:
    found = group_advantages(rewards, normalise=True)
    if found is not None:
        moved = group_advantages([reward * scale + shift for reward in rewards], normalise=True)
        assert moved == pytest.approx(found, abs=1e-4)
