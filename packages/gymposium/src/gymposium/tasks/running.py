"""The event loop shared by all worlds, with a bound on concurrent calls and a time limit per call."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
from functools import cache
from typing import Any, TypeVar

from gymposium.errors import GymposiumError, WorldFailure, describe_error
from gymposium.util.background import BackgroundLoop

AT_ONCE = 64
"""Maximum number of worlds that run a step concurrently. Further worlds wait."""
SECONDS = 60.0
"""Time limit in seconds for a tool call or for opening a world. Time spent waiting for other worlds does not count."""

T = TypeVar("T")


@cache
def _get_shared_loop() -> tuple[BackgroundLoop, asyncio.Semaphore]:
    """Return the event loop shared by all worlds, and the semaphore that limits concurrent coroutines."""
    return BackgroundLoop("gymposium worlds"), asyncio.Semaphore(AT_ONCE)


def start_coroutine(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Run a world's coroutine in the shared loop when a slot is free.

    Exceptions from a world become `WorldFailure`; gymposium's own errors pass through."""
    return _get_shared_loop()[0].submit(_run_in_slot(coroutine))


async def run_limited(coroutine: Coroutine[Any, Any, T], what: str) -> T:
    """Return the result of one step of a world. Raises `WorldFailure` if it raises or takes longer than `SECONDS`."""
    limit = asyncio.timeout(SECONDS)
    try:
        async with limit:
            return await coroutine
    except Exception as error:  # a world's author may raise anything
        if limit.expired():
            raise WorldFailure(f"{what} took more than {SECONDS:g} s") from error
        raise WorldFailure(f"{what} failed: {describe_error(error)}") from error


async def _run_in_slot(coroutine: Coroutine[Any, Any, T]) -> T:
    async with _get_shared_loop()[1]:
        try:
            return await coroutine
        except GymposiumError:
            raise
        except Exception as error:  # a world's author may raise anything
            raise WorldFailure(f"The world failed: {describe_error(error)}") from error
