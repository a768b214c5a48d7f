"""OpenEnv's endpoint `/mcp`: JSON-RPC requests that call a session's tools, as OpenEnv's `MCPToolClient` sends them.

A client creates a session, begins matches over a websocket that joins the session, and calls tools over either.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import Response

from gymposium.errors import GymposiumError
from gymposium.http.bodies import read_json_object
from gymposium.http.environments.session import EnvSession
from gymposium.http.environments.tools import format_result
from gymposium.http.environments.wire import ErrorCode, WireError

_CODES: Mapping[ErrorCode, int] = {"INVALID_JSON": -32600, "UNKNOWN_TYPE": -32601, "VALIDATION_ERROR": -32602}
_OTHER = -32000


@dataclass(eq=False)
class _Held:
    """A session that lasts between requests."""

    session: EnvSession
    is_joined: bool = False
    """True while a websocket plays in the session."""
    is_ending: bool = False
    """True if the session ends with its websocket."""
    timer: asyncio.TimerHandle | None = None
    called: float = 0.0
    """Time of the last tool call, by the event loop's clock."""


class ToolSessions:
    """The sessions of clients that call tools. One ends when its client closes it, or after `idle` idle seconds."""

    def __init__(self, threads: CapacityLimiter, idle: float, check_capacity: Callable[[], None]) -> None:
        """`check_capacity` raises `WireError` if the server has no room for another session."""
        self._threads, self._idle, self._check_capacity = threads, idle, check_capacity
        self._held: dict[str, _Held] = {}
        self._ending = set[asyncio.Task[None]]()

    def __len__(self) -> int:
        return len(self._held)

    # -- for websockets

    def join(self, number: str) -> EnvSession:
        """Return the session with this id, for a websocket. Raises `WireError` if it has one already, or is unknown."""
        held = self._find(number)
        if held.is_joined:
            raise WireError("SESSION_ERROR", f"Session {number[:80]} already has a websocket. Create another session.")
        held.is_joined = True
        self._stop_timer(held)
        return held.session

    def leave(self, number: str) -> None:
        """End a websocket's use of its session."""
        held = self._held[number]
        held.is_joined = False
        if held.is_ending:
            self._end(number)
        else:
            self._start_timer(number, held)

    def get_idle_seconds(self, number: str) -> float:
        """Return the time since a session's last tool call."""
        return asyncio.get_running_loop().time() - self._held[number].called

    # -- over HTTP

    async def answer(self, request: Request, make: Callable[[], EnvSession]) -> Response:
        """Answer a JSON-RPC request. `make` makes a session of the game in the address."""
        sent = read_json_object(request)
        number = sent.get("id")
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": number if isinstance(number, str | int) else None}
        try:
            answer["result"] = await self._call(sent, make)
        except GymposiumError as error:
            code = _CODES.get(error.code, _OTHER) if isinstance(error, WireError) else _OTHER
            answer["error"] = {"code": code, "message": str(error)}
        return Response(json.dumps(answer, allow_nan=False), media_type="application/json")

    async def _call(self, sent: Mapping[str, Any], make: Callable[[], EnvSession]) -> dict[str, Any]:
        params = sent.get("params", {})
        if sent.get("jsonrpc") != "2.0" or not isinstance(params, dict):
            raise WireError(
                "INVALID_JSON",
                'Invalid request. Send {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}.',
            )
        match sent.get("method"):
            case "openenv/session/create":
                return {"session_id": self._create(make())}
            case "openenv/session/close":
                return self._close(str(params.get("session_id")))
            case "tools/list":
                session = self._find(str(params["session_id"])).session if "session_id" in params else make()
                tools = await to_thread.run_sync(session.list_tools, limiter=self._threads)
                listed = [{"name": t.name, "description": t.description, "inputSchema": t.parameters} for t in tools]
                return {"tools": listed}
            case "tools/call":
                return await self._call_tool(params)
            case other:
                known = "openenv/session/create, openenv/session/close, tools/list, tools/call"
                raise WireError("UNKNOWN_TYPE", f"Unknown method {str(other)[:80]!r}. Methods: {known}.")

    async def _call_tool(self, params: Mapping[str, Any]) -> dict[str, Any]:
        if "session_id" not in params:
            raise WireError(
                "VALIDATION_ERROR",
                "A call needs the session_id of a match. Send openenv/session/create, then reset over "
                "/ws?session_id=ID.",
            )
        number = str(params["session_id"])
        held = self._find(number)
        self._stop_timer(held)
        try:
            shown = await to_thread.run_sync(
                held.session.call_tool, params.get("name"), params.get("arguments", {}), limiter=self._threads
            )
        finally:
            held.called = asyncio.get_running_loop().time()
            if number in self._held and not held.is_joined:
                self._start_timer(number, held)
        result = format_result(shown)
        return {**result, "data": result["structuredContent"]}  # the key that OpenEnv's client returns

    def _create(self, session: EnvSession) -> str:
        self._check_capacity()
        number = secrets.token_urlsafe(16)
        self._held[number] = held = _Held(session)
        self._start_timer(number, held)
        return number

    def _close(self, number: str) -> dict[str, Any]:
        held = self._find(number)
        if held.is_joined:
            held.is_ending = True
        else:
            self._end(number)
        return {"session_id": number, "closed": not held.is_joined}

    def _find(self, number: str) -> _Held:
        if number not in self._held:
            raise WireError("VALIDATION_ERROR", f"Unknown session {number[:80]!r}. Send openenv/session/create.")
        return self._held[number]

    def _start_timer(self, number: str, held: _Held) -> None:
        self._stop_timer(held)
        held.timer = asyncio.get_running_loop().call_later(self._idle, self._end, number)

    def _stop_timer(self, held: _Held) -> None:
        if held.timer is not None:
            held.timer.cancel()
            held.timer = None

    def _end(self, number: str) -> None:
        held = self._held.pop(number)
        self._stop_timer(held)
        task = asyncio.get_running_loop().create_task(to_thread.run_sync(held.session.close))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
