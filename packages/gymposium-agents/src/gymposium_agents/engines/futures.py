"""Helpers for futures: convert the result of one, or wait for several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def map_future(future: Future[T], make: Callable[[Future[T]], R]) -> Future[R]:
    """Return a future for the result or the error of `make(future)`. `make` is called when `future` is done, in the
    thread that completes it. Cancelling the returned future also cancels `future`."""
    made: Future[R] = Future()

    def done(completed: Future[T]) -> None:
        if not made.set_running_or_notify_cancel():
            return  # it was cancelled
        try:
            made.set_result(make(completed))
        except BaseException as error:  # noqa: BLE001 - every error is passed on to the caller of result()
            made.set_exception(error)

    made.add_done_callback(lambda waiting: future.cancel() if waiting.cancelled() else None)
    future.add_done_callback(done)
    return made


def wait_for_results(futures: Sequence[Future[T]]) -> list[T]:
    """Return the results of the futures, in order. If one fails, its error is raised and the others are cancelled."""
    try:
        wait(futures, return_when=FIRST_EXCEPTION)
        for future in futures:
            if future.done() and (error := future.exception()) is not None:
                raise error
        return [future.result() for future in futures]
    finally:
        for future in futures:
            future.cancel()
