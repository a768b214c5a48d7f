"""One event loop on a thread of its own, for engines that wait for servers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from functools import cache
from typing import Any, TypeVar

Result = TypeVar("Result")


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    # a daemon: a request that still waits when the program ends holds nothing up
    threading.Thread(target=loop.run_forever, name="gymposium engines", daemon=True).start()
    return loop


_starting = threading.Lock()


def run_in_background(work: Coroutine[Any, Any, Result]) -> Future[Result]:
    """Begin `work` on the background loop. To cancel the future cancels the work."""
    with _starting:  # functools.cache may call twice where two threads come at once
        loop = _loop()
    return asyncio.run_coroutine_threadsafe(work, loop)
