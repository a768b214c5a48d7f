"""The end of the program, for engines that work in it.

A thread that nobody waits for (a player's in `streaming`, a watchdog's) may be in the middle of a forward pass then,
and torch aborts the whole program where it returns to a Python that is taking itself apart. So such a thread stops for
good between two passes, and that is waited for. (Nor may it raise: to free a tensor is to return from torch.)
"""

from __future__ import annotations

import atexit
from threading import Event, Lock
from types import TracebackType
from weakref import WeakSet

SECONDS = 10.0
"""What is waited for one pass, at most."""

_ended = Event()


class Calls:
    """The calls of one engine: one at a time, each in the thread that makes it, and none once the program ends."""

    def __init__(self) -> None:
        self._lock = Lock()
        _all.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()

    def go_on(self) -> None:
        """To be called between two passes. Where the program ends it does not return."""
        if _ended.is_set():
            self._lock.release()
            Event().wait()

    def end(self) -> None:
        """Let nobody in any more, and wait for who is."""
        self._lock.acquire(timeout=SECONDS)


_all: WeakSet[Calls] = WeakSet()


@atexit.register
def _end_all() -> None:
    _ended.set()
    for calls in [*_all]:
        calls.end()
