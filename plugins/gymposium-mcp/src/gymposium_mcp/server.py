"""The servers in this process: for each file, one shared by all matches, or one per match."""

from __future__ import annotations

import asyncio
import atexit
from concurrent.futures import wait
from functools import cache
from typing import Any, Protocol

from gymposium.errors import GymposiumError
from gymposium.tasks.running import start_coroutine
from gymposium_mcp.catalog import ToolOffer, select_tools
from gymposium_mcp.connection import Connection
from gymposium_mcp.match_folder import MatchFolder
from gymposium_mcp.settings import WorldSettings

_AT_EXIT_SECONDS = 8.0
_SLOT_SECONDS = 30.0
"""Time limit in seconds for waiting until another match's server ends."""


class Server(Protocol):
    """The source of sessions for a file's matches. Its coroutines run in the event loop that all worlds share."""

    @property
    def is_running(self) -> bool:
        """Return whether a server is running."""
        ...

    async def acquire(self) -> tuple[Connection, ToolOffer]:
        """Return a session for a match, and the tools that the server currently offers.

        Raises `GymposiumError` if the server cannot be reached, and the errors of `select_tools` and `list_tools`."""
        ...

    async def release(self, connection: Connection) -> None:
        """End a match's use of its session."""
        ...

    async def close(self) -> None:
        """End all servers."""
        ...


class _Offers:
    """A cache of a server's checked tools."""

    def __init__(self, settings: WorldSettings) -> None:
        self._settings = settings
        self._listed: list[dict[str, Any]] = []
        self._offer = ToolOffer()

    def make(self, listed: list[dict[str, Any]]) -> ToolOffer:
        if listed != self._listed:
            self._offer = select_tools(self._settings, listed)
            self._listed = listed
        return self._offer


class SharedServer:
    """A server that starts on first use, and restarts on the next use after it has ended."""

    def __init__(self, settings: WorldSettings) -> None:
        self._settings = settings
        self._connection: Connection | None = None
        self._starting = asyncio.Lock()
        self._offers = _Offers(settings)

    @property
    def is_running(self) -> bool:
        return self._connection is not None

    async def acquire(self) -> tuple[Connection, ToolOffer]:
        """Return the session shared by all matches. A server that does not answer is restarted once."""
        connection = await self._connect()
        try:
            listed = await connection.list_tools()
        except Exception:  # noqa: BLE001 - whatever it was, a new server is asked before the match breaks off
            await self._drop(connection)
            connection = await self._connect()
            listed = await connection.list_tools()
        return connection, self._offers.make(listed)

    async def release(self, connection: Connection) -> None:
        """Do nothing: the server continues for other matches."""

    async def close(self) -> None:
        if self._connection is not None:
            await self._drop(self._connection)

    async def _connect(self) -> Connection:
        async with self._starting:
            if self._connection is None:
                self._connection = await Connection.open(self._settings)
            return self._connection

    async def _drop(self, connection: Connection) -> None:
        if self._connection is connection:
            self._connection = None
        await connection.close()


class ServerPerMatch:
    """A server for each match, started in a new folder and ended with the match. At most `at_once` run at a time."""

    def __init__(self, settings: WorldSettings, at_once: int) -> None:
        self._settings = settings
        self._at_once = at_once
        self._slots = asyncio.Semaphore(at_once)
        self._in_use: set[Connection] = set()
        self._ending: dict[Connection, asyncio.Task[None]] = {}
        self._offers = _Offers(settings)

    @property
    def is_running(self) -> bool:
        return bool(self._in_use)

    async def acquire(self) -> tuple[Connection, ToolOffer]:
        await self._take_slot()
        folder = connection = None
        try:
            folder = await asyncio.to_thread(MatchFolder.make, self._settings)
            connection = await Connection.open(self._settings, folder)
            self._in_use.add(connection)
            return connection, self._offers.make(await connection.list_tools())
        except BaseException:
            if connection is not None:
                await self.release(connection)
            else:
                self._free_slot(folder)
            raise

    async def release(self, connection: Connection) -> None:
        if connection in self._in_use:
            if connection not in self._ending:
                self._ending[connection] = asyncio.create_task(self._end(connection))
            await asyncio.shield(self._ending[connection])

    async def close(self) -> None:
        await asyncio.gather(*map(self.release, [*self._in_use]))

    async def _take_slot(self) -> None:
        """Wait for a server to end if `at_once` servers are running. Until then, the driver starts no further match."""
        try:
            async with asyncio.timeout(_SLOT_SECONDS):
                await self._slots.acquire()
        except TimeoutError as error:
            raise GymposiumError(
                f"{self._settings.path}: {self._at_once} servers are running, one per match, and none ended within "
                f"{_SLOT_SECONDS:g} s. End matches, or raise at_once in [server]."
            ) from error

    async def _end(self, connection: Connection) -> None:
        try:
            await connection.close()
        finally:
            self._free_slot(connection.folder)
            self._in_use.discard(connection)
            del self._ending[connection]

    def _free_slot(self, folder: MatchFolder | None) -> None:
        if folder is not None:
            folder.delete()  # not in a thread: none can start while the program ends
        self._slots.release()


@cache
def get_server(settings: WorldSettings) -> Server:
    """Return the source of sessions for a file's matches in this process."""
    at_once = settings.server.max_servers
    server: Server = SharedServer(settings) if at_once is None else ServerPerMatch(settings, at_once)
    _servers.append(server)
    return server


_servers: list[Server] = []


@atexit.register
def _close_all() -> None:
    """End all servers before the shared event loop ends, because then a slow server would have no time left to end."""
    wait([start_coroutine(server.close()) for server in _servers if server.is_running], _AT_EXIT_SECONDS)
