"""One server of a fleet: whether it is available, and its recovery."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, nullcontext
from typing import Any

from gymposium.errors import GymposiumError
from gymposium_agents.engines.vllm.client import FAILURES, Connection, HostedWeights, ServerContents
from gymposium_agents.engines.vllm.settings import Patience

PROBE_PAUSE = 0.2
"""Seconds between two checks of a server that does not answer."""
REFUSED_PAUSE = 5.0
"""Seconds until a retry for a server that answers but is not as required."""

Start = Callable[[Coroutine[Any, Any, None]], object]
"""Starts a coroutine in the event loop of the fleet. Its return value is kept until the coroutine has ended."""

log = logging.getLogger(__name__)


class Member:
    """A server of a fleet. While it is available, it answers and holds the contents of the fleet."""

    def __init__(
        self,
        connection: Connection,
        contents: ServerContents,
        wait: Patience,
        *,
        start: Start,
        check: Callable[[Connection], None],
        changed: Callable[[], None],
    ) -> None:
        """`contents` is what each server of the fleet must hold. `start` starts a coroutine alongside the requests.
        `check` raises `GymposiumError` for a server that does not match the other servers. `changed` is called when the
        member comes back or has a problem."""
        self.connection = connection
        self.present = True
        self.problem: Exception | None = None
        """Why the server is not expected back, or None."""
        self.recoveries = 0
        """Number of times that the server was lost and came back."""
        self.slots = asyncio.Semaphore(0)
        """Limits the number of requests in flight."""
        self._contents, self._wait = contents, wait
        self._in_flight = 0
        self._idle, self._open = asyncio.Event(), asyncio.Event()
        self._idle.set()
        self._open.set()
        self._start, self._check, self._changed = start, check, changed
        self._returning: object = None

    def lose(self, before: int, problem: GymposiumError | None = None) -> None:
        """Stop sending requests to the server until it is back, and start its recovery. `before` is the value of
        `recoveries` when the failed request was sent: if many fail together, only the first one counts."""
        if self.present and self.recoveries == before:
            self.present = False
            if problem is not None:
                self._set_problem(problem)
            self._returning = self._start(self._recover())

    @asynccontextmanager
    async def sending(self) -> AsyncIterator[None]:
        """Send a request inside the block, which begins when no weights are being replaced."""
        while not self._open.is_set():
            await self._open.wait()
        self._in_flight += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._in_flight -= 1
            if not self._in_flight:
                self._idle.set()

    async def replace_weights(self, weights: HostedWeights) -> None:
        """Replace the weights between requests, so that one version samples each reply and is reported with it."""
        async with self._pause_requests():
            await self.connection.replace_weights(weights)

    @asynccontextmanager
    async def _pause_requests(self) -> AsyncIterator[None]:
        """Hold back new requests inside the block, which begins when no request is in flight."""
        self._open.clear()
        try:
            await self._idle.wait()
            yield
        finally:
            self._open.set()

    async def _recover(self) -> None:
        """Wait until the server answers and has loaded all adapters. A dead server started by this process is
        restarted. If that fails, the server is lost for good."""
        try:
            await self._answer()
        except Exception as error:  # noqa: BLE001 - passed on to the requests that wait for it
            self._set_problem(error)
            return
        self.present, self.problem = True, None
        self.recoveries += 1
        self._changed()

    async def _answer(self) -> None:
        connection, server = self.connection, self.connection.server
        deadline, warned, last = time.monotonic() + self._wait.absence, False, ""
        while True:
            pause = PROBE_PAUSE
            try:
                if await connection.healthy():
                    await connection.greet()
                    self._check(connection)
                    stale = connection.weights != self._contents.weights
                    async with self._pause_requests() if stale else nullcontext():
                        await connection.hold(self._contents)  # the last wait: it must now hold exactly these
                    return
            except FAILURES as error:
                last = f" ({connection.shown(str(error))})"
                log.debug("The server at %s became unavailable again: %s", connection.url, error)
            except GymposiumError as error:
                self._set_problem(error)
                pause = REFUSED_PAUSE
            late = time.monotonic() > deadline
            if server is not None and (late or not server.alive):
                log.warning("The vLLM server at %s is gone. Restarting it.", connection.url)
                await asyncio.to_thread(server.revive)
                deadline = time.monotonic() + self._wait.absence
            elif late and self.problem is None:
                self._set_problem(
                    GymposiumError(
                        f"The vLLM server at {connection.url} is gone and did not come back within "
                        f"{self._wait.absence:.0f} seconds{last}. Restart it (gymposium engine start restarts servers "
                        f"that die), then resume."
                    )
                )
            elif not warned and server is None:
                warned = True
                log.warning("The vLLM server at %s does not answer. Waiting for it to come back.", connection.url)
            await asyncio.sleep(pause)

    def _set_problem(self, problem: Exception) -> None:
        """Store why the server is not expected back."""
        if str(problem) != str(self.problem):
            log.warning("No requests are sent to the vLLM server at %s: %s", self.connection.url, problem)
        self.problem = problem
        self._changed()
