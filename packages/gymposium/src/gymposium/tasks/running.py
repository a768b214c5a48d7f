"""Worlds that run: one event loop for all of them, a bound on calls at once, a time limit for each."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
from functools import cache
from typing import Any, TypeVar

from gymposium.errors import GymposiumError, WorldBroke, describe
from gymposium.util.background import BackgroundLoop

AT_ONCE = 64
"""Number of worlds in which something is done at the same time; others wait."""
SECONDS = 60.0
"""Time limit of one call of a tool, in seconds, and of the opening of a world. Waiting for others does not count."""

T = TypeVar("T")


class _Desk:
    """The event loop of all worlds."""

    def __init__(self) -> None:
        self.loop = BackgroundLoop("gymposium worlds")
        self.places = asyncio.Semaphore(AT_ONCE)


@cache
def _desk() -> _Desk:
    return _Desk()


def start(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Run a coroutine of a world in the loop of all worlds, when there is a place. What a world raises becomes
    `WorldBroke`; errors of gymposium stay what they are."""
    return _desk().loop.submit(_placed(coroutine))


async def limited(coroutine: Coroutine[Any, Any, T], what: str) -> T:
    """The result of one step of a world. Raises `WorldBroke` if it raises or takes longer than `SECONDS`."""
    limit = asyncio.timeout(SECONDS)
    try:
        async with limit:
            return await coroutine
    except Exception as error:  # a world's author may raise anything
        if limit.expired():
            raise WorldBroke(f"{what} took more than {SECONDS:g} s") from error
        raise WorldBroke(f"{what} failed: {describe(error)}") from error


async def _placed(coroutine: Coroutine[Any, Any, T]) -> T:
    async with _desk().places:
        try:
            return await coroutine
        except GymposiumError:
            raise
        except Exception as error:  # a world's author may raise anything
            raise WorldBroke(f"The world failed: {describe(error)}") from error
