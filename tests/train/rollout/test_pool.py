"""Past versions are kept periodically, released oldest first, and drawn by the learner's results."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, strategies as st

from gymposium.errors import GymposiumError
from gymposium.util.streams import stream
from gymposium_agents.chat.tokens import Policy
from gymposium_train.config import Pool
from gymposium_train.rollout.pool import PastVersions


def fill_pool(cast: Any, pool: Pool, *records: tuple[int, int]) -> PastVersions:
    """Versions with the learner's number of wins and matches against each."""
    past = PastVersions(pool, cast)
    for step, (won, played) in enumerate(records):
        cast.now = step
        past.keep(step)
        past.note(Policy("learner", step), [1.0] * won + [0.0] * (played - won))
    return past


def test_pool_starts_with_initial_policy_and_drops_oldest(new_cast: Any) -> None:
    cast = new_cast()
    past = PastVersions(Pool(every=3, size=2), cast)
    held = []
    for step in range(10):
        cast.now = 10 * step
        past.keep(step)
        held.append([version.policy.version for version in past.versions])
    assert held == [[0]] * 3 + [[0, 30]] * 3 + [[30, 60]] * 3 + [[60, 90]]
    assert cast.gone == [Policy("learner", 0), Policy("learner", 30)]


def test_run_that_begins_later_keeps_a_version_at_once(new_cast: Any) -> None:
    past = PastVersions(Pool(every=10), cast := new_cast())
    past.keep(7)
    assert cast.kept == [Policy("learner", 0)]


def test_unchanged_policy_is_not_kept_again(new_cast: Any) -> None:
    """If it were kept twice, it would be released with the older of the two while the other is still met."""
    past = PastVersions(Pool(every=1, size=1), cast := new_cast())
    past.keep(0)
    past.keep(1)
    assert [version.step for version in past.versions] == [0]
    assert cast.gone == []


RECORDS = ((9, 10), (5, 10), (1, 10), (0, 0))
EXPECTED = {  # of Laplace-smoothed win rates 10/12, 6/12, 2/12 and 1/2, with nothing faded yet
    "uniform": (1.0, 1.0, 1.0, 1.0),
    "hard": (4 / 144, 36 / 144, 100 / 144, 1 / 4),
    "even": (20 / 144, 36 / 144, 20 / 144, 1 / 4),
}


@pytest.mark.parametrize("prioritise", EXPECTED)
def test_versions_are_drawn_by_priority(new_cast: Any, monkeypatch: Any, prioritise: Any) -> None:
    monkeypatch.setattr("gymposium_train.rollout.pool.FADING", 1.0)
    past = fill_pool(new_cast(), Pool(every=1, prioritise=prioritise), *RECORDS)
    weights = EXPECTED[prioritise]
    shares = [weight / sum(weights) for weight in weights]
    assert past.shares() == pytest.approx(shares)
    rng = stream(0, "test")
    met = Counter(past.draw(rng).version for _ in range(4000))
    assert [met[version] / 4000 for version in range(4)] == pytest.approx(shares, abs=0.025)  # 3 standard errors


def test_old_results_fade(new_cast: Any) -> None:
    """A version that beat the learner a thousand times and has not won since counts as beaten."""
    past = fill_pool(new_cast(), Pool(every=1), (0, 1000))
    assert past.versions[0].win_rate < 0.02
    past.note(Policy("learner", 0), [1.0] * 300)
    assert past.versions[0].win_rate > 0.93


@given(scores=st.lists(st.sampled_from([0.0, 0.5, 1.0]), max_size=300))
def test_win_rates_never_reach_0_or_1(new_cast: Any, scores: list[float]) -> None:
    """So each version is met again at times."""
    past = fill_pool(new_cast(), Pool(every=1), (0, 0), (0, 0))
    past.note(Policy("learner", 0), scores)
    assert 0.0 < past.versions[0].win_rate < 1.0
    assert past.versions[1].win_rate == 0.5
    assert all(0.0 < share < 1.0 for share in past.shares())


def test_results_against_released_versions_are_ignored(new_cast: Any) -> None:
    past = fill_pool(new_cast(), Pool(every=1, size=1), (0, 0), (0, 0))
    before = past.state()
    past.note(Policy("learner", 0), [1.0])
    assert past.state() == before


def test_state_round_trips_through_json(new_cast: Any) -> None:
    past = fill_pool(new_cast(), Pool(every=1), *RECORDS)
    again = PastVersions(Pool(every=1), new_cast())
    again.restore(json.loads(json.dumps(past.state())))
    assert again.versions == past.versions


def test_refuses_to_restore_a_larger_pool(new_cast: Any) -> None:
    past = fill_pool(new_cast(), Pool(every=1), *RECORDS)
    with pytest.raises(GymposiumError, match=r"keeps 4 past versions, but pool\.size is 3"):
        PastVersions(Pool(every=1, size=3), new_cast()).restore(past.state())
