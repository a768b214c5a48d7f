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
    """An event loop that runs coroutines for callers without one.

    At program exit, running coroutines are canceled. A coroutine that cannot be canceled delays the exit by at most a
    second."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._submitted: WeakSet[Coroutine[Any, Any, Any]] = WeakSet()
        """Callers' running coroutines."""
        self._ended = False
        # reentrant: garbage collection of an engine may end its loop while this thread holds the lock
        self._ending = threading.RLock()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()
        _loops.add(self)

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine and return its future. Canceling the future cancels the coroutine.

        Raises `GymposiumError` if the loop has ended."""
        with self._ending:
            if not self._ended:
                self._submitted.add(coroutine)
                return asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        coroutine.close()
        raise GymposiumError("The event loop is closed. Create a new one.")

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and return its result."""
        return self.submit(coroutine).result()

    def end(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Cancel the running coroutines, run the coroutine from `last`, and end the loop.

        The call returns immediately and is allowed in the loop's thread. Further calls do nothing."""
        with self._ending:
            if not self._ended:
                self.submit(self._end(last))
                self._ended = True

    def join(self, seconds: float | None = None) -> None:
        """Wait until the loop has ended, for at most `seconds`."""
        self._thread.join(seconds)

    def _run(self) -> None:
        self._loop.run_forever()
        self._loop.close()

    async def _end(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            # callers' coroutines first: each ends the tasks that it began
            await self._cancel([task for task in self._list_other_tasks() if task.get_coro() in self._submitted])
            await self._cancel(self._list_other_tasks())
            await last()
        finally:
            self._loop.stop()

    @staticmethod
    def _list_other_tasks() -> list[asyncio.Task[Any]]:
        return [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]

    @staticmethod
    async def _cancel(tasks: Sequence[asyncio.Task[Any]]) -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


_loops: WeakSet[BackgroundLoop] = WeakSet()


@atexit.register
def _end_all() -> None:
    """Cancel all tasks, because the interpreter warns about each task that is pending at exit."""
    for loop in [*_loops]:
        loop.end(partial(asyncio.sleep, 0))
        loop.join(_AT_EXIT_SECONDS)
