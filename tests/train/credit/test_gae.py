"""GAE over turns matches its definitions: discounted returns and sums of temporal differences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, strategies as st

from gymposium_train.credit.gae import Gae, GaeSettings
from gymposium_train.credit.protocol import BadEpisode, Episode

number = st.floats(-5, 5)
share = st.floats(0, 1)
discount = st.floats(0, 1, exclude_min=True)


def make_gae(gamma: float, lam: float, *, normalise: bool = False) -> Gae:
    return Gae(GaeSettings(gamma=gamma, lam=lam, normalise=normalise))


@st.composite
def episodes(draw: st.DrawFn) -> Episode:
    """Episodes with many rewards of 0, as in games; some are truncated."""
    turns = draw(st.integers(1, 7))
    rewards = draw(st.lists(st.one_of(st.just(0.0), number), min_size=turns, max_size=turns))
    values = draw(st.lists(number, min_size=turns, max_size=turns))
    return Episode(tuple(rewards), "nim 0", tuple(range(turns)), tuple(values), draw(st.one_of(st.just(0.0), number)))


def test_gae_matches_hand_computation() -> None:
    """gamma 0.5, lambda 0.5; rewards 0, 0, 1 and values 0.5, 0.25, 0.5. The temporal differences are
    -0.375 = 0 + 0.125 - 0.5, 0 = 0 + 0.25 - 0.25 and 0.5 = 1 - 0.5; the advantages 0.5, 0.125 and -0.34375."""
    ended = Episode((0.0, 0.0, 1.0), "nim 0", (0, 1, 2), (0.5, 0.25, 0.5))
    ((found,),) = make_gae(0.5, 0.5)([[ended]])
    assert found.advantages == (-0.34375, 0.125, 0.5)
    assert found.targets == (0.15625, 0.375, 1.0)


def test_only_truncated_episodes_bootstrap() -> None:
    """The critic expects 4 afterwards: 1 + 0.5 * 4 - 2 = 1, against 1 - 2 = -1 if the match ended."""
    gae = make_gae(0.5, 1.0)
    assert gae.advantages(Episode((1.0,), "nim 0", (0,), (2.0,), after=4.0)) == [1.0]
    assert gae.advantages(Episode((1.0,), "nim 0", (0,), (2.0,))) == [-1.0]


@given(episode=episodes(), gamma=discount)
def test_lambda_1_is_the_discounted_return_minus_value(episode: Episode, gamma: float) -> None:
    ((found,),) = make_gae(gamma, 1.0)([[episode]])
    turns = len(episode.rewards)
    for t in range(turns):
        paid = sum(gamma ** (k - t) * episode.rewards[k] for k in range(t, turns))
        paid += gamma ** (turns - t) * episode.after
        assert found.targets[t] == pytest.approx(paid, abs=1e-9)
        assert found.advantages[t] == pytest.approx(paid - episode.values[t], abs=1e-9)


@given(episode=episodes(), gamma=discount, lam=share)
def test_gae_sums_temporal_differences(episode: Episode, gamma: float, lam: float) -> None:
    """Equation 16 of Schulman et al., 2016: every turn is a step, also without a reward."""
    values = (*episode.values, episode.after)
    turns = len(episode.rewards)
    found = make_gae(gamma, lam).advantages(episode)
    assert len(found) == turns
    for t in range(turns):
        expected = sum(
            (gamma * lam) ** k * (episode.rewards[t + k] + gamma * values[t + k + 1] - values[t + k])
            for k in range(turns - t)
        )
        assert found[t] == pytest.approx(expected, abs=1e-9)


@given(episode=episodes(), gamma=discount)
def test_lambda_0_is_one_temporal_difference(episode: Episode, gamma: float) -> None:
    following = (*episode.values[1:], episode.after)
    expected = [r + gamma * n - v for r, n, v in zip(episode.rewards, following, episode.values, strict=True)]
    assert make_gae(gamma, 0.0).advantages(episode) == pytest.approx(expected)


def test_turns_without_reward_discount() -> None:
    """Each turn before the reward discounts it once more, also turns with a reward of 0."""
    late = Episode((0.0, 0.0, 0.0, 1.0), "nim 0", (0, 1, 2, 3), (0.0,) * 4)
    assert make_gae(0.5, 1.0).advantages(late) == [0.125, 0.25, 0.5, 1.0]


@given(groups=st.lists(st.lists(episodes(), min_size=1, max_size=3), min_size=1, max_size=4), gamma=discount, lam=share)
def test_whitening_covers_the_batch_and_keeps_targets(groups: list[list[Episode]], gamma: float, lam: float) -> None:
    raw, white = make_gae(gamma, lam)(groups), make_gae(gamma, lam, normalise=True)(groups)

    def flat(credited: Sequence[Sequence[Episode]], name: str) -> np.ndarray:
        return np.array([x for group in credited for one in group for x in getattr(one, name)])

    before, after = flat(raw, "advantages"), flat(white, "advantages")
    assert np.array_equal(flat(raw, "targets"), flat(white, "targets"))
    assert np.allclose(after.mean(), 0.0, atol=1e-6)
    if len(before) > 1 and before.std() > 1e-3:
        assert after.std(ddof=1) == pytest.approx(1.0, rel=1e-4)
        assert np.allclose(after, (before - before.mean()) / before.std(ddof=1), atol=1e-4)


def test_gae_requires_values() -> None:
    with pytest.raises(BadEpisode, match="Set up a critic"):
        make_gae(1.0, 1.0, normalise=True)([[Episode((1.0,), "nim 0", (0,))]])
