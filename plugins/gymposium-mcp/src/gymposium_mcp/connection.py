"""One session with a server, over a program's standard input and output or over streamable HTTP.

Messages are used in their wire format, as records store them.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Self, TypeVar

from anyio import BrokenResourceError
from mcp import ClientSession, MCPError, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.types import INVALID_PARAMS, PaginatedRequestParams

from gymposium.errors import GymposiumError, describe_error
from gymposium.plugins.allowed import check_variable
from gymposium.tasks import Result
from gymposium.tasks.tools import Call
from gymposium.util.child_process import make_python_command
from gymposium_mcp.bodies import BOUNDED_UTF8, HEADERS, bound_body, on_bad_output
from gymposium_mcp.match_folder import MatchFolder
from gymposium_mcp.results import parse_result
from gymposium_mcp.settings import WorldSettings
from gymposium_mcp.stderr import OutputTail

START_SECONDS = 120.0
"""Time limit in seconds for starting a server. Some commands first download the server."""
_CLOSE_SECONDS = 7.0
MOST_PAGES = 64
"""Maximum number of pages in a tool list."""
_MOST_LISTED = 4 * 2**20
"""Maximum number of characters in a tool list, all pages together."""

T = TypeVar("T")


class Connection:
    """A session that lasts until `close`, or until the server ends it. Use it in one event loop."""

    def __init__(self, settings: WorldSettings, folder: MatchFolder | None = None) -> None:
        self._settings = settings
        self.folder = folder
        """The working directory of the program; None for the folder of the settings file."""
        self._output = OutputTail() if settings.server.command else None
        self._ended = asyncio.Event()
        self._end_reason = "the server ended the session."
        self._session: asyncio.Future[ClientSession] = asyncio.get_running_loop().create_future()
        # the context managers of `mcp` must exit in the task that entered them
        self._task = asyncio.create_task(self._run())

    @classmethod
    async def open(cls, settings: WorldSettings, folder: MatchFolder | None = None) -> Self:
        """Start the server, or connect to it. Raises `GymposiumError` with the server's output on failure."""
        connection = cls(settings, folder)
        try:
            await _wait_for(asyncio.shield(connection._session), START_SECONDS)
        except BaseException as error:
            await connection.close()
            cause = _unwrap(error)
            if isinstance(cause, GymposiumError) or not isinstance(cause, Exception):
                raise cause from None
            if isinstance(cause, BrokenResourceError):  # it ended during a write
                raise await connection._make_end_error() from error
            raise GymposiumError(
                f"{settings.path}: cannot reach the server: {describe_error(cause).rstrip('.')}."
                f"{await connection._read_last_output()}"
            ) from error
        return connection

    async def list_tools(self) -> list[dict[str, Any]]:
        """Return the raw list of tools, with all its pages."""
        return await _wait_for(self._read_pages(), self._settings.tools.seconds)

    async def call(self, call: Call) -> Result:
        """Return a tool's result.

        Raises `GymposiumError` if the server ends before it answers, `TimeoutError` if it does not answer in time, and
        `mcp`'s error for an answer that is not a result."""
        answered = self._await_answer((await self._session).call_tool(call.name, dict(call.arguments)))
        try:
            answer = await _wait_for(answered, self._settings.tools.seconds)
        except MCPError as error:
            if error.error.code == INVALID_PARAMS:
                return Result(self._hide_folder(str(error)), error=True)
            raise
        return parse_result(self._hide_folder_in(answer.model_dump(by_alias=True, mode="json")))

    async def close(self) -> None:
        """End the session, and the program if one was started."""
        self._ended.set()
        if not (await asyncio.wait([self._task], timeout=_CLOSE_SECONDS))[0]:
            self._task.cancel()
            await asyncio.wait([self._task], timeout=_CLOSE_SECONDS)
        if self._session.done():
            self._session.exception()  # or asyncio would warn that it was never retrieved

    async def _run(self) -> None:
        on_bad_output.set(self._end_session)
        try:
            async with AsyncExitStack() as stack:
                read, write = (await stack.enter_async_context(self._open_streams()))[:2]
                session = await stack.enter_async_context(_Session(_WatchedStream(read, self._ended), write))
                await self._await_answer(session.initialize())
                self._session.set_result(session)
                await self._ended.wait()
        except Exception as error:  # noqa: BLE001 - a transport may raise anything, and groups of that
            if not self._session.done():
                self._session.set_exception(error)
        finally:
            self._ended.set()

    async def _read_pages(self) -> list[dict[str, Any]]:
        tools: list[dict[str, Any]] = []
        cursor, length = None, 0
        for _ in range(MOST_PAGES):
            params = PaginatedRequestParams(cursor=cursor)
            page = await self._await_answer((await self._session).list_tools(params=params))
            listed = self._hide_folder_in(page.model_dump(by_alias=True, mode="json"))
            tools += listed["tools"]
            length += len(json.dumps(listed))
            if length > _MOST_LISTED:
                break
            if not (cursor := listed.get("nextCursor")):
                return tools
        raise GymposiumError(
            f"{self._settings.path}: the server's list of tools has more than {MOST_PAGES} pages or {_MOST_LISTED:,} "
            f"characters. Use a server with fewer tools."
        )

    async def _await_answer(self, request: Coroutine[Any, Any, T]) -> T:
        """Return the answer to a request, or fail once the session has ended."""
        asked, ended = asyncio.ensure_future(request), asyncio.ensure_future(self._ended.wait())
        asked.add_done_callback(lambda task: task.cancelled() or task.exception())  # retrieve the error
        try:
            await asyncio.wait([asked, ended], return_when=asyncio.FIRST_COMPLETED)
            if self._ended.is_set() and (not asked.done() or asked.exception() is not None):
                raise await self._make_end_error()
            return asked.result()
        finally:
            asked.cancel()
            ended.cancel()

    async def _make_end_error(self) -> GymposiumError:
        """Return the error for a server that has ended."""
        return GymposiumError(f"{self._settings.path}: {self._end_reason}{await self._read_last_output()}")

    def _end_session(self, why: str) -> GymposiumError:
        """End the session for a reason, and return the error."""
        self._end_reason = why
        self._ended.set()
        return GymposiumError(f"{self._settings.path}: {why}")

    async def _read_last_output(self) -> str:
        """Return the program's last output as a sentence, with secret values replaced."""
        values = {name: os.environ.get(name, "") for name in self._settings.server.env}
        text = await self._output.text(values) if self._output else ""
        return f" It wrote: {self._hide_folder(text)}" if text else ""

    def _hide_folder_in(self, message: dict[str, Any]) -> dict[str, Any]:
        return message if self.folder is None else self.folder.hide_in(message)

    def _hide_folder(self, text: str) -> str:
        return text if self.folder is None else self.folder.hide(text)

    @asynccontextmanager
    async def _open_streams(self) -> AsyncIterator[Any]:
        """Provide two message streams: from the server, then to the server."""
        server = self._settings.server
        if self._output is None:
            headers = {"Authorization": f"Bearer {self._read_variable(server.token)}"} if server.token else {}
            bounded = create_mcp_http_client(headers={**headers, **HEADERS})
            bounded.event_hooks = {"request": [], "response": [bound_body]}
            async with (
                bounded as client,
                streamable_http_client(server.url, http_client=client) as streams,
            ):
                yield streams
            return
        with self._output.file as wrote:
            command = server.command if self.folder is None else self.folder.command
            program, *arguments = make_python_command(*command[1:]) if command[0] == "python" else command
            parameters = StdioServerParameters(
                command=program,
                args=arguments,
                env={name: self._read_variable(name) for name in server.env},
                cwd=self._settings.folder if self.folder is None else self.folder.path,
                encoding=BOUNDED_UTF8,
            )
            async with stdio_client(parameters, errlog=wrote) as streams:
                wrote.close()  # from now on only the program writes
                yield streams

    def _read_variable(self, name: str) -> str:
        check_variable(name, str(self._settings.path))
        value = os.environ.get(name)
        if value is None:
            raise GymposiumError(f"{self._settings.path}: the environment variable {name} is not set. Set it.")
        return value


class _Session(ClientSession):
    """A session that skips validation against the server's result schemas, which could be slow or fetch documents."""

    async def validate_tool_result(self, name: str, result: Any) -> None:
        """Do nothing."""


class _WatchedStream:
    """A message stream that signals its end."""

    def __init__(self, stream: Any, ended: asyncio.Event) -> None:
        self._stream, self._ended = stream, ended

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> bool | None:
        left: bool | None = await self._stream.__aexit__(*raised)
        return left

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await anext(self._stream)
        except BaseException:
            self._ended.set()
            raise


async def _wait_for(answer: Awaitable[T], seconds: float) -> T:
    try:
        async with asyncio.timeout(seconds):
            return await answer
    except TimeoutError as error:
        raise TimeoutError(f"no answer within {seconds:g} s") from error


def _unwrap(error: BaseException) -> BaseException:
    """Return the first error in nested exception groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
