"""An event loop in a background thread, for engines and tools that wait for servers."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeVar
from weakref import WeakSet

from gymposium.errors import GymposiumError

T = TypeVar("T")

_AT_EXIT_SECONDS = 1.0


class BackgroundLoop:
    """An event loop that runs coroutines for callers without one. The end of the program cancels the coroutines that
    run; one that cannot be cancelled delays it by a second at most."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._submitted: WeakSet[Coroutine[Any, Any, Any]] = WeakSet()
        """The coroutines of callers, as long as they run."""
        self._ended = False
        # reentrant: garbage collection of an engine may end its loop while this thread holds the lock
        self._ending = threading.RLock()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()
        _loops.add(self)

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine and return its future, whose cancellation cancels the coroutine. Raises `GymposiumError` if
        the loop has ended, because the future would never be done."""
        with self._ending:
            if not self._ended:
                self._submitted.add(coroutine)
                return asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        coroutine.close()
        raise GymposiumError("It is closed. Create a new one.")

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end and return its result."""
        return self.submit(coroutine).result()

    def end(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Cancel the coroutines that run, run the coroutine of `last`, and end the loop. This does not wait and may be
        called in the loop's own thread. Further calls do nothing."""
        with self._ending:
            if not self._ended:
                self.submit(self._end(last))
                self._ended = True

    def join(self, seconds: float | None = None) -> None:
        """Wait until the loop has ended, for at most `seconds` if given."""
        self._thread.join(seconds)

    def _run(self) -> None:
        self._loop.run_forever()
        self._loop.close()

    async def _end(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            # a coroutine of a caller ends the tasks that it began, each in its own way, before those that are left
            await self._cancel([task for task in self._other_tasks() if task.get_coro() in self._submitted])
            await self._cancel(self._other_tasks())
            await last()
        finally:
            self._loop.stop()

    @staticmethod
    def _other_tasks() -> list[asyncio.Task[Any]]:
        return [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]

    @staticmethod
    async def _cancel(tasks: Sequence[asyncio.Task[Any]]) -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


_loops: WeakSet[BackgroundLoop] = WeakSet()


@atexit.register
def _end_all() -> None:
    """Cancel all tasks, because the interpreter prints a warning for each one that is pending at its shutdown."""
    for loop in [*_loops]:
        loop.end(partial(asyncio.sleep, 0))
        loop.join(_AT_EXIT_SECONDS)
