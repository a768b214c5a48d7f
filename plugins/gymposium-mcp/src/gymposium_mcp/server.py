"""The servers of this process: one for each file, shared by all matches, started when it is first needed."""

from __future__ import annotations

import asyncio
import atexit
from concurrent.futures import wait
from functools import cache
from typing import Any

from gymposium.worlds.running import start
from gymposium_mcp.catalogue import Offer, offered
from gymposium_mcp.connection import Connection
from gymposium_mcp.settings import WorldSettings

_AT_EXIT_SECONDS = 8.0


class Server:
    """A server that is started again when it has ended. Its coroutines run in the loop of all worlds."""

    def __init__(self, settings: WorldSettings) -> None:
        self.settings = settings
        self._connection: Connection | None = None
        self._starting = asyncio.Lock()
        self._listed: list[dict[str, Any]] = []
        self._offered = Offer()

    @property
    def runs(self) -> bool:
        """True if it has been started and not been closed."""
        return self._connection is not None

    async def connected(self) -> tuple[Connection, Offer]:
        """A session with the server, and the tools that it offers now. A server that does not answer is started again,
        once.

        Raises `GymposiumError` if it cannot be reached, the errors of `offered`, and any error of a list that fails."""
        connection = await self._connected()
        try:
            listed = await connection.tools()
        except Exception:  # noqa: BLE001 - whatever it was, a new server is asked before the match breaks off
            await self._drop(connection)
            connection = await self._connected()
            listed = await connection.tools()
        if listed != self._listed:  # a list is checked once, and not for each task
            self._offered = offered(self.settings, listed)
            self._listed = listed
        return connection, self._offered

    async def close(self) -> None:
        """End it."""
        if self._connection is not None:
            await self._drop(self._connection)

    async def _connected(self) -> Connection:
        async with self._starting:
            if self._connection is None:
                self._connection = await Connection.open(self.settings)
            return self._connection

    async def _drop(self, connection: Connection) -> None:
        if self._connection is connection:
            self._connection = None
        await connection.close()


@cache
def the_server(settings: WorldSettings) -> Server:
    """The server of this process for a file."""
    server = Server(settings)
    _servers.append(server)
    return server


_servers: list[Server] = []


@atexit.register
def _close_all() -> None:
    """End all servers before the loop of all worlds ends, which would leave a slow one no time."""
    wait([start(server.close()) for server in _servers if server.runs], _AT_EXIT_SECONDS)
