"""A guard that checks every request to servers for programs.

A program must name the server's host, send JSON and, if the server has a token, send the token. Another site's page in
a browser fails these checks, because its requests carry that site's origin. Foreign host names that point at this
machine (DNS rebinding) are not among the server's hosts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from gymposium.http.bodies import MOST_BYTES, PARSED, SECONDS, has_body, read_body, replay_body
from gymposium.http.requests import (
    ErrorFormat,
    RequestRefusal,
    check_host,
    check_origin,
    format_openai_error,
    is_same_token,
    list_allowed_hosts,
    read_client_token,
)
from gymposium.util.strict_json import parse_bounded_json


class ApiGuard:
    """An ASGI application that checks requests and websockets before passing them to another application.

    | status | rejected request |
    |---|---|
    | 421 | another host than `names` and loopback, or not exactly one |
    | 403 | an `Origin` other than the server's |
    | 401 | no token, or a wrong token |
    | 415, 413, 408 | a body that is not JSON by its content type, is too large, or arrives too slowly |
    | 400 | a body that is not strict JSON, or nested too deeply |

    `gymposium.http.bodies.read_json_object` returns the body of a request that passed. A rejection's body is `{"error":
    {"message", "type", "code"}}`, as in OpenAI's API, unless `format_error` gives another.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        names: Iterable[str] = (),
        token: str | None = None,
        needs_token: Callable[[Scope], bool] = lambda scope: True,
        most: int = MOST_BYTES,
        seconds: float = SECONDS,
        any_integer: bool = False,
        format_error: ErrorFormat = lambda path, refusal: format_openai_error(refusal),
    ) -> None:
        """`names` are the allowed hosts in addition to loopback.

        With a `token`, requests need `Authorization: Bearer …` or `X-Api-Key: …`. A websocket may use `?token=…`
        instead, because not every client can set its headers. `needs_token` returns False for requests that the
        application authenticates itself. `most` (bytes) and `seconds` limit a body. `any_integer` allows
        integers over 64 bits in it."""
        self._app = app
        self._hosts = list_allowed_hosts(names)
        self._token, self._needs_token = token, needs_token
        self._most, self._seconds = most, seconds
        self._any_integer, self._format_error = any_integer, format_error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        try:
            check_host(headers, self._hosts)
            check_origin(scope, headers)
            self._check_token(scope, headers)
            if scope["type"] == "http" and has_body(headers):
                body = await read_body(headers, receive, most=self._most, seconds=self._seconds)
                scope[PARSED], receive = self._parse_json(body), replay_body(body, receive)
        except RequestRefusal as refused:
            response = refused.response(self._format_error(scope["path"], refused))
            await _refuse(response, scope, receive, send)
        except ClientDisconnect:
            return
        else:
            await self._app(scope, receive, send)

    def _check_token(self, scope: Scope, headers: Headers) -> None:
        if self._token is None or not self._needs_token(scope):
            return
        given = read_client_token(headers)
        if not given and scope["type"] == "websocket":
            given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[-1]
        if not is_same_token(given, self._token):
            what = "This is not the token of this server." if given else "This server needs a token."
            raise RequestRefusal(
                401, "wrong_token" if given else "no_token", f"{what} Send Authorization: Bearer TOKEN."
            )

    def _parse_json(self, body: bytes) -> Any:
        try:
            return parse_bounded_json(body.decode(), any_integer=self._any_integer)
        except ValueError as error:
            raise RequestRefusal(400, "invalid_json", f"The body is not valid JSON: {error}.") from None


async def _refuse(response: Response, scope: Scope, receive: Receive, send: Send) -> None:
    """Send a response, or close the websocket if the server cannot send a response on it."""
    if scope["type"] == "websocket" and "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close", "code": 1008})
    else:
        await response(scope, receive, send)
