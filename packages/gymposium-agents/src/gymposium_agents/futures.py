"""Futures of answers that come from elsewhere: waited for together, and made into something else as they come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def then(future: Future[T], make: Callable[[Future[T]], R]) -> Future[R]:
    """What `make` makes of a future that is done, or raises, in the thread in which it was done. To cancel it is to
    cancel that future too."""
    made: Future[R] = Future()

    def done(first: Future[T]) -> None:
        if not made.set_running_or_notify_cancel():
            return  # nobody waits for it any more
        try:
            result = make(first)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it belongs to whoever waits
            made.set_exception(error)
        else:
            made.set_result(result)

    made.add_done_callback(lambda given: future.cancel() if given.cancelled() else None)
    future.add_done_callback(done)
    return made


def results(futures: Sequence[Future[T]]) -> list[T]:
    """The results in order; where one fails, the others are not waited for, and are cancelled."""
    try:
        wait(futures, return_when=FIRST_EXCEPTION)
        for future in futures:
            if future.done() and (error := future.exception()) is not None:
                raise error
        return [future.result() for future in futures]
    finally:
        for future in futures:
            future.cancel()
