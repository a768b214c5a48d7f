"""Clean shutdown of the program for engines that compute in this process.

At shutdown, a daemon thread (of a player in the `streaming` schedule, or of a watchdog) may be in the middle of a
forward pass. If torch then returns to an interpreter that is shutting down, it aborts the process. Such a thread
therefore blocks forever between two passes, and the shutdown waits until it does. The thread must not raise instead,
because freeing its tensors would also return from torch.
"""

from __future__ import annotations

import atexit
from threading import Event, Lock
from weakref import WeakSet

SECONDS = 10.0
"""Maximum number of seconds that the shutdown waits for one pass."""

_ended = Event()


class EngineCalls:
    """The calls of one engine. They run one at a time, each in its caller's thread. After the shutdown has begun, no
    call runs."""

    def __init__(self) -> None:
        self.lock = Lock()
        """The lock held by a running call."""
        _all.add(self)

    def go_on(self) -> None:
        """Check between two passes of a call whether the program is shutting down. If it is, this method never
        returns."""
        if _ended.is_set():
            self.lock.release()
            Event().wait()

    def end(self) -> None:
        """Wait for the running call, and block all later calls."""
        self.lock.acquire(timeout=SECONDS)


_all: WeakSet[EngineCalls] = WeakSet()


@atexit.register
def _end_all() -> None:
    _ended.set()
    for calls in [*_all]:
        calls.end()
