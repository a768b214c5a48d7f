"""One session with a server: its description over HTTP, and one episode over a websocket."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any, Self
from urllib.parse import urlsplit

import httpx
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from gymposium.errors import BadOption, BadParameter, GymposiumError, WorldFailure
from gymposium.http.responses import MAX_BODY, read_body
from gymposium.http.tls import get_tls_context
from gymposium.tasks.running import start_coroutine
from gymposium.util.strict_json import parse_bounded_json
from gymposium.util.visible import is_encodable, visible
from gymposium_openenv.actions import BadAction

SECONDS = 60.0
"""Time limit for one server answer, in seconds."""
_CLOSE_SECONDS = 10.0
"""Time limit for ending a session, in seconds."""


class Address:
    """A server's address, and the token for it."""

    def __init__(self, url: str, token: str) -> None:
        """`token` is the name of an environment variable, or empty. Raises `BadParameter` and `BadOption`."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
            raise BadParameter(
                f"url={url!r}: use http:// or https:// and a host, without a user name or query, such as "
                "http://127.0.0.1:8000."
            )
        self.url = url.rstrip("/")
        self.headers: dict[str, str] = {}
        if token:
            secret = os.environ.get(token)
            if not secret:
                raise BadOption(f"token={token}: set the environment variable {token} to the token for {url}.")
            self.headers["Authorization"] = f"Bearer {secret}"

    def read(self, path: str) -> dict[str, Any]:
        """Return the JSON object at a server path. Redirections are not followed, since the user has allowed one
        address.

        Raises `GymposiumError` for any other answer, or if the whole answer takes more than `SECONDS`."""
        try:
            text = start_coroutine(self._fetch(path)).result().decode()
            value = parse_bounded_json(text)
        except (WorldFailure, ValueError) as error:
            raise GymposiumError(
                f"Cannot read {self.url}{path}: {error}. Is an OpenEnv server running there?"
            ) from error
        if not is_encodable(json.dumps(value, ensure_ascii=False)):
            raise GymposiumError(f"{self.url}{path} has half of a surrogate pair. Is an OpenEnv server running there?")
        if not isinstance(value, dict):
            raise GymposiumError(f"{self.url}{path} is not a JSON object. Is an OpenEnv server running there?")
        return value

    async def _fetch(self, path: str) -> bytes:
        headers = {**self.headers, "Accept-Encoding": "identity"}
        try:
            async with (
                asyncio.timeout(SECONDS),
                httpx.AsyncClient(
                    headers=headers, timeout=SECONDS, verify=get_tls_context(trust_env=False), trust_env=False
                ) as client,
                client.stream("GET", f"{self.url}{path}") as answer,
            ):
                answer.raise_for_status()
                return await read_body(answer)
        except TimeoutError as error:
            raise WorldFailure(f"no answer within {SECONDS:g} s") from error
        except httpx.HTTPError as error:
            raise WorldFailure(visible(str(error)) or type(error).__name__) from error


class DirectConnect(connect):
    """A connection that follows no redirections, since the user has allowed one address."""

    def process_redirect(self, exc: Exception) -> Exception:
        """Return the error for the redirection, instead of following it."""
        return exc


class Connection:
    """A websocket for one match. Any failure raises `WorldFailure`."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    @classmethod
    async def open(cls, address: Address) -> Self:
        """Connect. Raises `WorldFailure`."""
        url = f"ws{address.url.removeprefix('http')}/ws"
        try:
            socket = await DirectConnect(
                url,
                additional_headers=address.headers,
                max_size=MAX_BODY,
                compression=None,
                open_timeout=SECONDS,
                ping_interval=None,  # pings draw from the global random numbers, and each call has a time limit
                proxy=None,
            )
        except (OSError, TimeoutError, WebSocketException) as error:
            raise WorldFailure(f"{url} cannot be reached: {visible(str(error))}") from error
        return cls(socket)

    async def ask(self, kind: str, data: dict[str, Any]) -> dict[str, Any]:
        """Return the observation that answers a message. Raises `WorldFailure`, and `BadAction` for an action that the
        server rejects."""
        try:
            async with asyncio.timeout(SECONDS):
                await self._socket.send(json.dumps({"type": kind, "data": data}))
                answer = parse_bounded_json(str(await self._socket.recv()))
        except TimeoutError as error:
            raise WorldFailure(f"The server did not answer within {SECONDS:g} s") from error
        except (OSError, WebSocketException) as error:
            raise WorldFailure(f"The connection was lost: {visible(str(error))}") from error
        except ValueError as error:
            raise WorldFailure(f"The server sent invalid JSON: {error}") from error
        match answer:
            case {"type": "observation", "data": {"observation": dict()} as shown}:
                return dict(shown)
            case {"type": "error", "data": {"code": "VALIDATION_ERROR", "message": str(why)}} if kind == "step":
                raise BadAction(f"The environment refuses your reply: {visible(why[:200])}.")
            case {"type": "error", "data": {"message": str(why), "code": str(code)}}:
                raise WorldFailure(f"The server refused {kind}: {visible(why[:200])} ({visible(code[:40])})")
        raise WorldFailure(f"The server must answer {kind} with an observation")

    async def close(self) -> None:
        """End the session. Does not wait for a server that stops reading."""
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._socket.send(json.dumps({"type": "close"}))
                await self._socket.close()
        except (OSError, TimeoutError, WebSocketException):
            self._socket.transport.abort()
