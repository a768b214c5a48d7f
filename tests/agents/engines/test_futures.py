"""Futures derived from futures, and waiting for several."""

from __future__ import annotations

from concurrent.futures import CancelledError, Future

import pytest

from gymposium_agents.engines.futures import map_future, wait_for_results


def test_mapped_future_resolves_with_its_source() -> None:
    first: Future[int] = Future()
    second = map_future(first, lambda done: done.result() + 1)
    assert not second.done()
    first.set_result(1)
    assert second.result() == 2


def test_errors_of_source_and_function_propagate() -> None:
    failed: Future[int] = Future()
    failed.set_exception(KeyError("first"))
    with pytest.raises(KeyError, match="first"):
        map_future(failed, lambda done: done.result()).result()
    good: Future[int] = Future()
    good.set_result(0)
    with pytest.raises(ZeroDivisionError):
        map_future(good, lambda done: 1 // done.result()).result()


def test_cancelling_also_cancels_the_source() -> None:
    first: Future[int] = Future()
    made: list[object] = []
    second = map_future(first, made.append)
    assert second.cancel()
    assert first.cancelled()
    assert not made


def test_late_result_of_a_cancelled_future_is_dropped() -> None:
    first: Future[int] = Future()
    first.set_running_or_notify_cancel()  # cannot be cancelled any more
    made: list[object] = []
    second = map_future(first, made.append)
    second.cancel()
    first.set_result(1)
    with pytest.raises(CancelledError):
        second.result()
    assert not made


def test_results_keep_order_and_a_failure_cancels_the_rest() -> None:
    futures: list[Future[int]] = [Future() for _ in range(3)]
    for number, future in enumerate(futures):
        future.set_result(number)
    assert wait_for_results(futures) == [0, 1, 2]
    under_way: Future[int] = Future()
    failed: Future[int] = Future()
    failed.set_exception(KeyError("gone"))
    with pytest.raises(KeyError, match="gone"):
        wait_for_results([under_way, failed])
    assert under_way.cancelled()
