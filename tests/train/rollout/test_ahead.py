"""Asynchronous rollouts stay within their bound, lose nothing, and leave no thread behind."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from threading import Barrier, Event

import pytest
from hypothesis import given, settings, strategies as st

from gymposium.errors import BadOption, GymposiumError
from gymposium_train.rollout.ahead import RolloutCancelled, RolloutPrefetcher

PATIENCE = 30.0
"""Seconds after which a test that waits for a thread has failed."""


@pytest.fixture(autouse=True)
def check_threads() -> Iterator[None]:
    yield
    assert [thread.name for thread in threading.enumerate() if thread.name == "rollouts"] == []


def test_on_policy_rollouts_alternate_in_one_thread() -> None:
    said: list[str] = []

    def play(step: int) -> int:
        assert threading.current_thread() is threading.main_thread()
        said.append(f"play {step}")
        return 10 * step

    with RolloutPrefetcher(play, 0, range(2, 5)) as ahead:
        for step in range(2, 5):
            taken = ahead.take(step)
            assert taken == (10 * step, 0)
            said.append(f"learn {step}")
            ahead.published(step)
    assert said == ["play 2", "learn 2", "play 3", "learn 3", "play 4", "learn 4"]


def test_rollouts_run_during_updates() -> None:
    """The update of step 0 and the rollout of step 1 wait for each other, so one after the other they would never
    end."""
    both = Barrier(2, timeout=PATIENCE)

    def play(step: int) -> int:
        if step == 1:
            both.wait()
        return step

    with RolloutPrefetcher(play, 1, range(2)) as ahead:
        assert ahead.take(0)[1] == 0
        both.wait()
        ahead.published(0)
        assert ahead.take(1)[1] == 1


def test_rollouts_wait_for_recent_weights() -> None:
    begun = {step: Event() for step in range(4)}

    def play(step: int) -> int:
        begun[step].set()
        return step

    with RolloutPrefetcher(play, 1, range(4)) as ahead:
        ahead.take(0)
        ahead.take(1)  # both may begin with the weights of step 0
        assert not begun[2].is_set()
        ahead.published(0)
        assert begun[2].wait(PATIENCE)
        assert ahead.take(2)[1] == 1
        assert not begun[3].is_set()
        ahead.published(1)
        ahead.published(2)
        assert ahead.take(3)[1] <= 1


@given(bound=st.integers(0, 4), first=st.integers(0, 3), count=st.integers(0, 12))
@settings(max_examples=40)
def test_rollouts_never_exceed_the_staleness_bound(bound: int, first: int, count: int) -> None:
    published, begun_with = first, {}

    def play(step: int) -> int:
        begun_with[step] = published
        return step

    steps = range(first, first + count)
    with RolloutPrefetcher(play, bound, steps) as ahead:
        for step in steps:
            rollout, staleness = ahead.take(step)
            assert rollout == step
            assert step - begun_with[step] <= staleness <= bound
            published = step + 1
            ahead.published(step)
    assert list(begun_with) == list(steps)


@pytest.mark.parametrize("bound", [0, 2])
def test_rollout_errors_are_raised_on_take(bound: int) -> None:
    def play(step: int) -> int:
        if step == 1:
            raise GymposiumError("the engine is gone")
        return step

    with RolloutPrefetcher(play, bound, range(4)) as ahead:
        assert ahead.take(0)[0] == 0  # what was played before is not lost
        ahead.published(0)
        with pytest.raises(GymposiumError, match="the engine is gone"):
            ahead.take(1)


def test_closing_interrupts_the_running_rollout() -> None:
    playing, seen = Event(), []

    def play(step: int) -> int:
        if step == 0:
            return 0
        playing.set()
        try:
            while True:
                ahead.go_on()
        except RolloutCancelled:
            seen.append(step)
            raise

    ahead = RolloutPrefetcher(play, 1, range(8))

    def update() -> None:
        with ahead:
            ahead.take(0)
            assert playing.wait(PATIENCE)
            raise KeyboardInterrupt  # as Ctrl-C in the middle of an update

    with pytest.raises(KeyboardInterrupt):
        update()
    assert seen == [1]


def test_ctrl_c_interrupts_waiting_for_a_rollout() -> None:
    main = threading.main_thread().ident
    assert main is not None
    # a background job starts with interrupts ignored
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def play(step: int) -> int:
        signal.pthread_kill(main, signal.SIGINT)
        while True:
            ahead.go_on()

    ahead = RolloutPrefetcher(play, 1, range(8))
    try:
        with pytest.raises(KeyboardInterrupt), ahead:
            ahead.take(0)
    finally:
        signal.signal(signal.SIGINT, before)


def test_closing_wakes_rollouts_waiting_for_weights() -> None:
    with RolloutPrefetcher(lambda step: step, 1, range(8)) as ahead:
        ahead.take(0)
        ahead.take(1)  # step 2 waits for the weights of step 1, which never come


def test_steps_are_taken_in_order() -> None:
    with RolloutPrefetcher(lambda step: step, 1, range(1)) as ahead:
        with pytest.raises(ValueError, match="step 0 is next"):
            ahead.take(1)
        ahead.take(0)
        with pytest.raises(ValueError, match="were taken"):
            ahead.take(1)


def test_invalid_bounds_and_steps_are_refused() -> None:
    with pytest.raises(BadOption, match="cannot be -1 steps behind"):
        RolloutPrefetcher(lambda step: step, -1, range(3))
    with pytest.raises(BadOption, match="must be consecutive"):
        RolloutPrefetcher(lambda step: step, 1, range(0, 6, 2))
