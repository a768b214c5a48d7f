"""An event loop on a thread of its own, for engines that wait for servers."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar
from weakref import WeakSet

from gymposium.errors import GymposiumError

T = TypeVar("T")

_AT_EXIT_SECONDS = 1.0


class BackgroundLoop:
    """Runs coroutines for callers that have no event loop. The end of the program cancels what is under way; a
    coroutine that does not let itself be cancelled holds it up for a second at most."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._ended = False
        # reentrant: an engine may be collected, and end its loop, wherever this thread is
        self._ending = threading.RLock()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()
        _loops.add(self)

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin it; to cancel the future is to cancel the coroutine. Raises `GymposiumError` where the loop has been
        ended, since nothing would ever come of it."""
        with self._ending:
            if not self._ended:
                return asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        coroutine.close()
        raise GymposiumError("The engine is closed, so it cannot be asked. Make another.")

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Its result, when it is there."""
        return self.submit(coroutine).result()

    def end(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Cancel what runs, do a last thing, and end; may be called in the loop's own thread, and does not wait. A
        second time does nothing."""
        with self._ending:
            if not self._ended:
                self.submit(self._end(last))
                self._ended = True

    def join(self, seconds: float | None = None) -> None:
        """Wait until it has ended, or so long."""
        self._thread.join(seconds)

    def _run(self) -> None:
        self._loop.run_forever()
        self._loop.close()

    async def _end(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        try:
            await asyncio.gather(*others, return_exceptions=True)
            await last()
        finally:
            self._loop.stop()


_loops: WeakSet[BackgroundLoop] = WeakSet()


async def _nothing() -> None:
    pass


@atexit.register
def _end_all() -> None:
    """Tasks that the interpreter finds under way when it takes itself apart are complained of, one by one."""
    for loop in [*_loops]:
        loop.end(_nothing)
        loop.join(_AT_EXIT_SECONDS)
