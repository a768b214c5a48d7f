"""Rewards to learn from: shaped by length, and compared for ties."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from gymposium.errors import UnratedGroup
from gymposium.rewards.protocol import CheckedReward, Reward
from gymposium_agents.chat.tokens import BASE, Completion, TurnTokens
from gymposium_train.config import Overlong, Prompting, TrainConfig
from gymposium_train.rollout import Group
from gymposium_train.rollout.rating import are_tied, penalize_length, rate_groups

LIMIT = 20


def make_config(**overlong: Any) -> TrainConfig:
    return TrainConfig(games=("kuhn_poker",), prompting=Prompting(max_tokens=LIMIT), overlong=Overlong(**overlong))


def trajectory(*lengths: int, cut: bool = False, paid: float = 1.0) -> Any:
    """A trajectory of replies with these numbers of tokens. With `cut`, the last one reached the end of the context."""
    turns = [SimpleNamespace(trace=TurnTokens((1,), Completion((3,) * n, (-0.5,) * n, "stop", BASE))) for n in lengths]
    if cut:
        turns[-1].trace.completion.finish_reason = "length"
    return SimpleNamespace(turns=turns, paid=paid)


def group(*trajectories: Any) -> Group:
    return Group(role="seat 0", trajectories=trajectories)


def are_rated_tied(groups: Sequence[Group], config: TrainConfig) -> bool:
    return are_tied(rate_groups(PAID, groups, config))


PAID = CheckedReward("paid", lambda group: [Reward(one.paid) for one in group])  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("lengths", "penalties"),
    [((16,), (0.0,)), ((17,), (0.5,)), ((20,), (2.0,)), ((3, 18, 19), (0.0, 1.0, 1.5))],
)
def test_long_replies_earn_less(lengths: tuple[int, ...], penalties: tuple[float, ...]) -> None:
    """The last fifth of the limit by default, as in DAPO's equation 13."""
    config = make_config(mode="penalize", penalty=2.0)
    shaped = penalize_length(Reward(1.0, {"win": 1.0}), trajectory(*lengths), config)
    assert shaped.turns == pytest.approx([*(-p for p in penalties[:-1]), 1.0 - penalties[-1]])
    assert shaped.total == pytest.approx(1.0 - sum(penalties))
    assert shaped.parts == {"win": 1.0, "overlong": -sum(penalties)}


def test_reply_cut_off_by_the_context_has_the_full_penalty() -> None:
    shaped = penalize_length(Reward(0.0), trajectory(2, 3, cut=True), make_config(mode="penalize"))
    assert shaped.turns == (0.0, -1.0)


@given(st.lists(st.integers(1, LIMIT), min_size=1, max_size=5), st.integers(1, LIMIT), st.data())
def test_penalties_stay_on_their_turns(lengths: list[int], buffer: int, data: st.DataObject) -> None:
    earned = [data.draw(st.floats(-5.0, 5.0)) for _ in lengths]
    config = make_config(mode="penalize", buffer=buffer)
    before = Reward(math.fsum(earned), turns=tuple(earned))
    shaped = penalize_length(before, trajectory(*lengths), config)
    assert shaped.turns is not None
    assert math.fsum(shaped.turns) == pytest.approx(shaped.total)
    lost = [have - now for have, now in zip(earned, shaped.turns, strict=True)]
    assert all(-1e-9 <= one <= 1.0 + 1e-9 for one in lost)
    assert [round(one, 6) for one in lost] == [round(max(0, n - LIMIT + buffer) / buffer, 6) for n in lengths]


@pytest.mark.parametrize("mode", ["fail", "mask"])
def test_other_modes_leave_rewards_alone(mode: str) -> None:
    (rated,) = rate_groups(PAID, [group(trajectory(20))], make_config(mode=mode))
    assert rated.rewards == (Reward(1.0),)


def test_groups_are_rated_once() -> None:
    asked = []

    def rate(group: Any) -> list[Reward]:
        asked.append(group)
        if len(group) == 1:
            raise UnratedGroup("the judge is gone")
        return [Reward(one.paid) for one in group]

    given, config = [group(trajectory(1)), group(trajectory(20), trajectory(2))], make_config(mode="penalize")
    rated = rate_groups(CheckedReward("judge", rate), given, config)
    assert [(one.unrated, len(one.rewards)) for one in rated] == [("the judge is gone", 0), ("", 2)]
    assert rate_groups(CheckedReward("judge", rate), rated, config) == rated
    assert len(asked) == 2


def test_ties_are_judged_after_shaping() -> None:
    short, long = trajectory(5), trajectory(20)
    plain, shaping = make_config(), make_config(mode="penalize")
    assert are_rated_tied([group(short, long)], plain)
    assert not are_rated_tied([group(short, long)], shaping)
    assert are_rated_tied([group(short, short)], shaping)
    assert not are_rated_tied([group(short, short), group(short, trajectory(5, paid=0.0))], plain), "one teaches"
    assert not are_rated_tied([], plain), "all matches were dropped"


def test_unrated_groups_are_not_tied() -> None:
    def fail(group: Any) -> Any:
        raise UnratedGroup("the judge is gone")

    assert not are_tied(rate_groups(CheckedReward("judge", fail), [group(trajectory(1))], make_config()))
