"""A guard that checks every request to the viewer's server.

It protects against other pages in the same browser and against DNS rebinding. Every request must name an allowed host,
and requests from pages must come from the viewer's own pages. Outside loopback, a request also needs a token. Response
headers forbid inline scripts, content from other sites, and framing.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, quote, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gymposium.http.requests import (
    RequestRefusal,
    check_host,
    check_origin,
    is_same_token,
    list_allowed_hosts,
    read_bearer_token,
)
from gymposium_viewer.pages import CONTENT_POLICY

_READS = ("GET", "HEAD")

HEADERS = {
    "Content-Security-Policy": f"{CONTENT_POLICY}; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


class RequestGuard:
    """An ASGI application that checks requests before passing them on."""

    def __init__(self, app: ASGIApp, *, names: Iterable[str] = (), token: str | None = None) -> None:
        """Allow the hosts `names` in addition to loopback.

        With a `token`, each request must carry it in a header (`Authorization: Bearer …`), or once as `?token=…`. A
        cookie then stores it."""
        self._app = app
        self._hosts = list_allowed_hosts(names)
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        refusal = self._check_request(scope)
        with suppress(ClientDisconnect):
            await (self._app if refusal is None else refusal)(scope, receive, send_guarded)

    def _check_request(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        try:
            check_host(headers, self._hosts)
            check_origin(scope, headers)
        except RequestRefusal as refused:
            return _deny(refused.status, str(refused))
        if "origin" not in headers and scope["method"] not in _READS:
            return _deny(403, "A request that changes something needs an Origin header.")
        return self._check_token(scope, headers) if self._token is not None else None

    def _check_token(self, scope: Scope, headers: Headers) -> Response | None:
        # browsers keep cookies by host, not by port: another server on this host must not overwrite ours
        port = headers["host"].rpartition("]")[2].partition(":")[2]
        cookie = f"gymposium-{port if port.isdecimal() else 80}"
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        tokens = [value for name, value in query if name == "token"]
        if tokens and scope["method"] in _READS:
            if not self._is_token(tokens[-1]):
                return _deny(401, "Wrong token for this server.")
            rest = urlencode([(name, value) for name, value in query if name != "token"])
            # exactly one slash and no backslash at the start, so no path can lead to another site; a bare query would
            # keep the token in clients that drop an empty one
            path = "/" + quote(scope["path"].lstrip("/"))
            onward = RedirectResponse(f"{path}?{rest}" if rest else path, status_code=303)
            onward.set_cookie(cookie, tokens[-1], httponly=True, samesite="strict", path="/")
            return onward
        if self._is_token(read_bearer_token(headers)):
            return None
        try:
            kept = SimpleCookie(headers.get("cookie", "")).get(cookie)
        except CookieError:
            kept = None
        if kept is not None and self._is_token(kept.value):
            return None
        return _deny(401, "Open the address that the server printed: it carries a token.")

    def _is_token(self, text: str) -> bool:
        return is_same_token(text, self._token or "")


def _deny(status: int, why: str) -> Response:
    return PlainTextResponse(f"{why}\n", status_code=status)
