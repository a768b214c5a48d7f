"""Credit: hand-computed tables, and properties of all kinds."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence

import numpy as np
import pytest
from hypothesis import given, strategies as st

from gymposium.errors import BadOption, GymposiumError
from gymposium_train.credit.baseline import Baseline, BaselineSettings
from gymposium_train.credit.gae import Gae, GaeSettings
from gymposium_train.credit.gigpo import Gigpo, GigpoSettings
from gymposium_train.credit.grpo import Grpo, GrpoSettings, compute_group_advantages
from gymposium_train.credit.protocol import BadEpisode, Credit, Episode, assign_advantages, is_tied
from gymposium_train.credit.rae import Rae, RaeSettings
from gymposium_train.credit.rloo import Rloo, RlooSettings

group_rewards = st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0]), min_size=1, max_size=40)


def episode(*rewards: float, role: str = "nim 0", states: Sequence[Hashable] | None = None) -> Episode:
    return Episode(rewards, role, tuple(states or range(len(rewards))))


def advantages(credit: Credit, *groups: Sequence[Episode]) -> list[list[tuple[float, ...]] | None]:
    return [None if is_tied(group) else [one.advantages for one in group] for group in credit(groups)]


def make_gigpo(gamma: float, step_weight: float, *, normalise: bool = False) -> Gigpo:
    return Gigpo(GigpoSettings(gamma=gamma, step_weight=step_weight, normalise=normalise))


def test_grpo_matches_its_formula() -> None:
    rewards = [1.0, 0.0, 0.0, 1.0]
    assert compute_group_advantages(rewards, normalise=True) == pytest.approx(
        (np.array(rewards) - 0.5) / (np.std(rewards, ddof=1) + 1e-8)
    )
    assert compute_group_advantages(rewards, normalise=False) == pytest.approx([0.5, -0.5, -0.5, 0.5])
    assert compute_group_advantages([-1.0, 1.0], normalise=False) == pytest.approx([-1.0, 1.0])


@given(rewards=group_rewards, normalise=st.booleans())
def test_groups_are_centered_and_ties_give_no_credit(rewards: list[float], *, normalise: bool) -> None:
    found = compute_group_advantages(rewards, normalise=normalise)
    if len(set(rewards)) == 1:
        assert found is None
        return
    assert found is not None
    assert sum(found) == pytest.approx(0.0, abs=1e-6)
    assert [a for _, a in sorted(zip(rewards, found, strict=True))] == sorted(found)


@given(rewards=group_rewards, scale=st.floats(0.01, 100), shift=st.floats(-5, 5))
def test_normalized_credit_is_scale_invariant(rewards: list[float], scale: float, shift: float) -> None:
    found = compute_group_advantages(rewards, normalise=True)
    if found is not None:
        moved = compute_group_advantages([reward * scale + shift for reward in rewards], normalise=True)
        assert moved == pytest.approx(found, abs=1e-4)


def test_grpo_matches_hand_computation() -> None:
    """Totals 3, 1, 2: mean 2, standard deviation of a sample 1. Every turn has its trajectory's advantage, and a
    trajectory of three turns counts once in the mean."""
    group = [episode(1.0, 0.0, 2.0), episode(1.0), episode(0.0, 2.0)]
    tied = [episode(0.1, 0.2, 0.3), episode(0.3, 0.2, 0.1)]
    for normalise in (False, True):
        assert advantages(Grpo(GrpoSettings(normalise=normalise)), group, tied) == [
            [pytest.approx((1.0, 1.0, 1.0)), pytest.approx((-1.0,)), pytest.approx((0.0, 0.0))],
            None,
        ]
    doubled = [episode(2.0 * one.total) for one in group]
    assert advantages(Grpo(GrpoSettings(normalise=False)), doubled) == [[(2.0,), (-2.0,), (0.0,)]]
    assert advantages(Grpo(GrpoSettings(normalise=True)), doubled) == [[pytest.approx((a,)) for a in (1.0, -1.0, 0.0)]]


def test_rloo_matches_hand_computation() -> None:
    """Totals 3, 1, 2: the others' means are 1.5, 2.5 and 2."""
    group = [episode(3.0), episode(0.0, 1.0), episode(2.0)]
    assert advantages(Rloo(RlooSettings()), group, [episode(1.0)], [episode(1.0)] * 3) == [
        [pytest.approx((1.5,)), pytest.approx((-1.5, -1.5)), pytest.approx((0.0,))],
        None,
        None,
    ]
    with pytest.raises(BadOption, match="group size of 2 or more"):
        advantages(Rloo(RlooSettings()), [episode(1.0)], [episode(0.0)])


@given(rewards=st.lists(st.floats(-10, 10), min_size=2, max_size=12))
def test_rloo_baseline_excludes_the_own_reward(rewards: list[float]) -> None:
    (found,) = advantages(Rloo(RlooSettings()), [episode(reward) for reward in rewards])
    if found is None:
        assert len(set(rewards)) == 1
        return
    for i, (reward, (advantage,)) in enumerate(zip(rewards, found, strict=True)):
        others = rewards[:i] + rewards[i + 1 :]
        assert advantage == pytest.approx(reward - sum(others) / len(others), abs=1e-9)


def test_batch_baseline_matches_hand_computation_by_role() -> None:
    """Role a got 1, 0, 2 (mean 1, deviation 1) in two groups, role b 5 and 5, role c 7 once."""
    a, b, c = "nim 0", "nim 1", "nim_2 0"
    first = [episode(1.0, role=a), episode(0.0, 0.0, role=a)]
    second = [episode(2.0, role=a), episode(5.0, role=b)]
    alone = [episode(5.0, role=b), episode(7.0, role=c)]
    for normalise in (False, True):
        assert advantages(Baseline(BaselineSettings(normalise=normalise)), first, second, alone) == [
            [pytest.approx((0.0,)), pytest.approx((-1.0, -1.0))],
            [pytest.approx((1.0,)), (0.0,)],
            None,
        ]
    tripled = [[episode(3.0 * one.total, role=a)] for one in (*first, second[0])]
    assert advantages(Baseline(BaselineSettings(normalise=False)), *tripled) == [[(0.0,)], [(-3.0,)], [(3.0,)]]
    assert advantages(Baseline(BaselineSettings(normalise=True)), *tripled) == [
        [pytest.approx((x,))] for x in (0.0, -1.0, 1.0)
    ]


def test_rae_baseline_excludes_the_current_reward() -> None:
    """With decay 0.75, role a gets 4, 4 and 0 against 0, 1 and 1.75, which leaves 1.3125; role b gets -4 against 0,
    which leaves -1."""
    a, b = "kuhn_poker 0", "kuhn_poker 1"
    rae = Rae(RaeSettings(decay=0.75))
    batch = [[episode(4.0, role=a), episode(-4.0, role=b)], [episode(1.0, 3.0, role=a)], [episode(0.0, role=a)]]
    assert advantages(rae, *batch) == [[(4.0,), (-4.0,)], [(3.0, 3.0)], [(-1.75,)]]
    assert advantages(rae, [episode(1.3125, role=a)], [episode(-1.0, role=b)]) == [[(0.0,)], [(0.0,)]]


def test_rae_resumes_from_a_checkpoint() -> None:
    groups = [[episode(0.1), episode(0.7, role="nim 1")], [episode(0.3)]]
    through, resumed = Rae(RaeSettings()), Rae(RaeSettings())
    through(groups)
    resumed([[episode(5.0, role="another")]])
    resumed.restore(json.loads(json.dumps(through.state())))
    assert resumed.state() == through.state()
    through_again = through(groups)
    assert resumed(groups) == through_again
    assert Rae(RaeSettings())(groups) != through_again
    with pytest.raises(GymposiumError, match="original credit"):
        resumed.restore({})


STATELESS: list[Credit] = [
    Grpo(GrpoSettings(normalise=True)),
    Rloo(RlooSettings()),
    Baseline(BaselineSettings(normalise=True)),
    Gae(GaeSettings()),
    make_gigpo(1.0, 1.0, normalise=True),
]


@pytest.mark.parametrize("credit", STATELESS, ids=lambda credit: type(credit).__name__)
def test_stateless_credits_refuse_foreign_state(credit: Credit) -> None:
    assert credit.state() == {}
    credit.restore({})
    with pytest.raises(GymposiumError, match="original credit"):
        credit.restore(Rae(RaeSettings()).state())


@pytest.mark.parametrize("credit", [*STATELESS, Rae(RaeSettings())], ids=lambda credit: type(credit).__name__)
def test_empty_batch_gives_nothing(credit: Credit) -> None:
    assert credit([]) == []


def test_gigpo_matches_hand_computation() -> None:
    """Both trajectories begin at `start`. The first wins in two turns, the second in three, so only the turns differ:
    with gamma 0.5 `start` is worth 0.5 against 0.25. `middle` occurs twice, in two turns of one trajectory."""
    first = episode(0.0, 1.0, states=("start", "left"))
    second = episode(0.0, 0.0, 1.0, states=("start", "middle", "middle"))
    gigpo = make_gigpo(0.5, 2.0)
    assert advantages(gigpo, [first, second]) == [[(0.25, 0.0), (-0.25, -0.5, 0.5)]]
    assert advantages(make_gigpo(1.0, 2.0), [first, second]) == [None]
    assert advantages(make_gigpo(0.5, 0.0), [first, second]) == [None]
    # both kinds at once: totals 1 and 0, and `start` is worth 1 and 0 undiscounted
    lost = episode(0.0, 0.0, states=("start", "right"))
    assert advantages(make_gigpo(1.0, 2.0), [first, lost]) == [[(1.5, 0.5), (-1.5, -0.5)]]
    root = 0.5**0.5
    assert advantages(make_gigpo(1.0, 2.0, normalise=True), [first, lost]) == [
        [pytest.approx((3 * root, root)), pytest.approx((-3 * root, -root))]
    ]


def test_gigpo_compares_states_only_within_groups() -> None:
    won, lost = episode(1.0, states=("start",)), episode(0.0, states=("start",))
    assert advantages(make_gigpo(1.0, 1.0), [won, won], [lost, lost]) == [None, None]


def test_gigpo_equals_grpo_without_repeated_states() -> None:
    group = [episode(1.0, 0.0, states="ab"), episode(0.0, states="c"), episode(0.5, states="d")]
    assert make_gigpo(0.9, 1.0, normalise=True)([group]) == Grpo(GrpoSettings(normalise=True))([group])


def test_refuses_credit_that_misses_a_turn() -> None:
    group = [episode(1.0, 0.0), episode(1.0)]
    with pytest.raises(BadEpisode, match="2 rewards but 1 advantages"):
        assign_advantages(group, [(0.5,), (0.5,)])
    with pytest.raises(BadEpisode, match="1 rewards but 2 targets"):
        assign_advantages(group, [(0.5, 0.5), (0.5,)], [(1.0, 1.0), (1.0, 1.0)])
    with pytest.raises(ValueError, match="shorter"):
        assign_advantages(group, [(0.5, 0.5)])


@pytest.mark.parametrize(
    ("rewards", "states", "values", "wrong"),
    [
        ((), (), (), "no turns"),
        ((1.0, 0.0), ("a",), (), "1 states"),
        ((1.0, 0.0), ("a", "b"), (0.5,), "1 values"),
    ],
)
def test_refuses_incomplete_episodes(
    rewards: tuple[float, ...], states: tuple[str, ...], values: tuple[float, ...], wrong: str
) -> None:
    with pytest.raises(BadEpisode, match=wrong):
        Episode(rewards, "nim 0", states, values)
