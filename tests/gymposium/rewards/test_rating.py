"""Rating many groups: unrated groups are separated, and a function may rate several at once."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from gymposium import load_game, make_player
from gymposium.errors import BadReward, UnratedGroup
from gymposium.match import MatchJob, play
from gymposium.records.trajectories import Trajectory
from gymposium.rewards.protocol import CheckedReward, Reward

Group = Sequence[Trajectory]


def groups(count: int = 4) -> list[list[Trajectory]]:
    game, player = load_game("kuhn_poker"), make_player("random")
    jobs = [MatchJob(str(n), game, [player, player], n) for n in range(count)]
    return [[Trajectory.from_match(match, 0), Trajectory.from_match(match, 0)] for match in play(jobs)]


def by_seed(group: Group) -> list[Reward]:
    """Raises `UnratedGroup` for odd seeds."""
    seed = group[0].seed or 0
    if seed % 2:
        raise UnratedGroup("the seed is odd", f"It is {seed}.")
    return [Reward(float(seed))] * len(group)


class AllAtOnce:
    """Answers once it has been asked for a given number of groups."""

    def __init__(self, wanted: int) -> None:
        self._barrier = threading.Barrier(wanted)
        self._pool = ThreadPoolExecutor(wanted)

    def submit(self, group: Group) -> Future[list[Reward]]:
        return self._pool.submit(self, group)

    def __call__(self, group: Group) -> list[Reward]:
        self._barrier.wait(30)
        return by_seed(group)

    def remarks(self) -> list[str]:
        return ["All came together."]


def list_outcomes(rated: Sequence[list[Reward] | UnratedGroup]) -> list[object]:
    return [str(one) if isinstance(one, UnratedGroup) else [reward.total for reward in one] for one in rated]


@pytest.mark.parametrize("function", [by_seed, AllAtOnce(4)])
def test_each_group_gets_rewards_or_a_reason(function: AllAtOnce) -> None:
    found = CheckedReward("mine", function).rate(sorted(groups(), key=lambda group: group[0].seed or 0))
    odd = "The group was not rated: the seed is odd. It is {}."
    assert list_outcomes(found) == [[0.0, 0.0], odd.format(1), [2.0, 2.0], odd.format(3)]


def test_broken_promise_is_raised_and_cancels_pending_groups() -> None:
    waiting: list[Future[list[Reward]]] = []

    class Late:
        def submit(self, group: Group) -> Future[list[Reward]]:
            future: Future[list[Reward]] = Future()
            waiting.append(future)
            if len(waiting) == 1:
                future.set_result([])
            return future

        def __call__(self, group: Group) -> list[Reward]:
            raise AssertionError("it is to be asked by submit")

    with pytest.raises(BadReward, match="0 rewards for a group of 2"):
        CheckedReward("mine", Late()).rate(groups())
    assert [future.cancelled() for future in waiting] == [False, True, True, True]


def test_remarks_of_the_function_are_passed_on() -> None:
    assert CheckedReward("mine", by_seed).remarks() == []
    assert CheckedReward("mine", AllAtOnce(1)).remarks() == ["All came together."]
