"""The environment server: one session per websocket, and HTTP endpoints for OpenEnv clients."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable
from importlib.metadata import version
from threading import Lock

from anyio import CancelScope, CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp
from starlette.websockets import WebSocket, WebSocketDisconnect

from gymposium.errors import GymposiumError, UnknownName
from gymposium.http.app import build_api
from gymposium.http.environments.mcp import ToolSessions
from gymposium.http.environments.offer import OPTIONS, EnvOffer
from gymposium.http.environments.session import EnvSession
from gymposium.http.environments.wire import OPENAPI, SCHEMAS, Incoming, WireError, format_message
from gymposium.http.requests import RequestRefusal
from gymposium.match import MatchResult
from gymposium.util.visible import quantity

SESSIONS = 64
"""Maximum number of clients at once."""
IDLE = 900.0
"""Number of idle seconds before a client's session ends."""


def build_environments_app(
    offer: EnvOffer,
    write: Callable[[MatchResult], object],
    *,
    names: Iterable[str] = (),
    token: str | None = None,
    sessions: int = SESSIONS,
    idle: float = IDLE,
) -> ASGIApp:
    """Build the application that serves an offer's games.

    `write` records a finished match, from one thread at a time. `names` and `token` configure the guard; `/health`
    needs no token."""
    server = _Server(offer, write, sessions, idle)
    routes = [Route("/health", _report_health), Route("/openapi.json", _describe_interface)]
    for at in ("", "/{game:path}"):
        routes += [
            Route(f"{at}/metadata", server.metadata),
            Route(f"{at}/schema", server.schema),
            Route(f"{at}/mcp", server.call_tools, methods=["POST"]),
        ]
    sockets = [WebSocketRoute(path, server.play) for path in ("/ws", "/{game:path}/ws")]
    return build_api(
        [*routes, *sockets], names=names, token=token, needs_token=lambda scope: scope["path"] != "/health"
    )


async def _report_health(request: Request) -> Response:
    return JSONResponse({"status": "healthy"})


async def _describe_interface(request: Request) -> Response:
    return JSONResponse(OPENAPI)


class _Server:
    """The active sessions."""

    def __init__(self, offer: EnvOffer, write: Callable[[MatchResult], object], sessions: int, idle: float) -> None:
        self._offer, self._write, self._sessions, self._idle = offer, write, sessions, idle
        self._writing = Lock()
        self._threads = CapacityLimiter(sessions)  # each session waits for at most one step
        self._open = 0
        self._held = ToolSessions(self._threads, idle, self._check_capacity)

    def _record(self, played: MatchResult) -> None:
        with self._writing:
            self._write(played)

    def _parse_game(self, connection: Request | WebSocket) -> str:
        """Return the game name in the address. Raises `RequestRefusal` if it is not offered."""
        name = connection.path_params.get("game") or connection.query_params.get("game") or self._offer.first
        try:
            self._offer.game(name)
        except UnknownName as error:
            raise RequestRefusal(404, "unknown_game", str(error)) from None
        return str(name)

    # -- over HTTP

    async def metadata(self, request: Request) -> Response:
        """Describe the environment in the format of OpenEnv's `EnvironmentMetadata`."""
        game = self._offer.game(self._parse_game(request))
        offered = ", ".join(dict.fromkeys(game.name for game in self._offer.games.values()))
        readme = (
            f"{game.rules(0)}\nGames on this server: {offered}.\nOpponents: {', '.join(self._offer.opponents)}.\n"
            f"Options of reset: seed, episode_id, {', '.join(OPTIONS)}.\n"
        )
        return JSONResponse(
            {
                "name": game.name,
                "description": game.spec.summary,
                "readme_content": readme,
                "version": version("gymposium"),
                "author": None,
                "documentation_url": None,
            }
        )

    async def schema(self, request: Request) -> Response:
        """Return the schemas of actions, observations and states, which are the same for all games."""
        self._parse_game(request)
        return JSONResponse(SCHEMAS)

    async def call_tools(self, request: Request) -> Response:
        """Answer a JSON-RPC request of a client that calls tools."""
        game = self._parse_game(request)
        return await self._held.answer(request, lambda: EnvSession(self._offer, game, self._record))

    # -- over a websocket

    async def play(self, socket: WebSocket) -> None:
        """Play with one client until it disconnects, times out, or sends close."""
        try:
            game = self._parse_game(socket)
        except RequestRefusal as refused:
            await socket.send_denial_response(refused.response())
            return
        await socket.accept()
        try:
            try:
                if number := socket.query_params.get("session_id"):
                    await self._play_joined(socket, number)
                else:
                    await self._play_alone(socket, EnvSession(self._offer, game, self._record))
            except WireError as refused:
                await socket.send_text(refused.message())
            await socket.close()
        except (WebSocketDisconnect, TimeoutError):
            pass  # the client has disconnected, or does not read

    async def _play_alone(self, socket: WebSocket, session: EnvSession) -> None:
        """Play in a session that ends with the websocket."""
        self._check_capacity()
        self._open += 1
        try:
            await self._serve_messages(socket, session)
        finally:
            self._open -= 1
            with CancelScope(shield=True):
                await to_thread.run_sync(session.close)

    async def _play_joined(self, socket: WebSocket, number: str) -> None:
        """Play in a session of a client that calls tools."""
        session = self._held.join(number)
        try:
            await self._serve_messages(socket, session, lambda: self._held.get_idle_seconds(number))
        finally:
            self._held.leave(number)

    def _check_capacity(self) -> None:
        """Raise `WireError` if the server is at its limit of clients."""
        active = self._open + len(self._held)
        if active >= self._sessions:
            raise WireError(
                "CAPACITY_REACHED",
                f"This server is at its limit of {quantity(self._sessions, 'client')}. Try again later.",
                active_sessions=active,
                max_sessions=self._sessions,
            )

    async def _serve_messages(
        self, socket: WebSocket, session: EnvSession, get_idle_seconds: Callable[[], float] = lambda: math.inf
    ) -> None:
        """Answer messages until the client closes the session or is idle, here and by `get_idle_seconds`."""
        while True:
            try:
                async with asyncio.timeout(self._idle):
                    received = await socket.receive()
            except TimeoutError:
                if get_idle_seconds() < self._idle:
                    continue
                why = f"The session ended after {self._idle:g} seconds without a message."
                await socket.send_text(WireError("SESSION_ERROR", why).message())
                return
            if received["type"] == "websocket.disconnect":
                raise WebSocketDisconnect(received.get("code", 1005))
            try:
                answer = await self._answer(session, received.get("text"))
            except WireError as error:
                answer = error.message()
            except GymposiumError as error:  # such as a full disk
                answer = WireError("EXECUTION_ERROR", str(error)).message()
            if not answer:
                return
            async with asyncio.timeout(self._idle):
                await socket.send_text(answer)

    async def _answer(self, session: EnvSession, text: str | None) -> str:
        """Return the answer to a message, or "" if the client sends close.

        Raises `WireError` for an invalid message."""
        if text is None:
            raise WireError("INVALID_JSON", "Invalid JSON. Send messages as text, not as bytes.")
        sent = Incoming.parse(text)
        match sent.type:
            case "state":
                return format_message("state", session.state())
            case "close":
                return ""
        play = session.reset if sent.type == "reset" else session.step
        return format_message("observation", await to_thread.run_sync(play, sent.data, limiter=self._threads))
