"""The guard of the viewer's server, which checks every request first.

Neither another page in the same browser nor a foreign host name that points at this machine (DNS rebinding) may read
the pages or act for the user. Every request must therefore name a host that the server answers to, a request from a
page must come from one of our pages, and off loopback it needs a token. Every response forbids what our pages never
do: inline scripts, content from other sites, being framed.
"""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gymposium.viewer.pages import CONTENT_POLICY

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_READS = ("GET", "HEAD")

HEADERS = {
    "Content-Security-Policy": f"{CONTENT_POLICY}; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


def is_loopback(host: str) -> bool:
    """True if only this machine can reach a server that listens on this host."""
    if host in LOOPBACK:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class RequestGuard:
    """An ASGI application that checks requests before it passes them to another application."""

    def __init__(self, app: ASGIApp, *, names: Iterable[str] = (), token: str | None = None) -> None:
        """`names` are the allowed hosts besides loopback. With a `token`, each request must carry it: in a header
        (`Authorization: Bearer …`), or once as `?token=…`, after which a cookie holds it."""
        self._app = app
        self._names = {*LOOPBACK, *(name.lower() for name in names)}
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

        refusal = self._refuse(scope)
        await (self._app if refusal is None else refusal)(scope, receive, send_guarded)

    def _refuse(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if len(headers.getlist("host")) != 1 or _name(host) not in self._names:
            return _no(421, f"This server does not answer to the name {_name(host)!r}.")
        origins = headers.getlist("origin")
        if origins and origins != [f"{scope['scheme']}://{host}"]:
            return _no(403, "This request comes from another site.")
        if not origins and scope["method"] not in _READS:
            return _no(403, "A request that changes something must say where it comes from (Origin).")
        return self._ask_for_token(scope, headers) if self._token is not None else None

    def _ask_for_token(self, scope: Scope, headers: Headers) -> Response | None:
        # browsers keep cookies by host, not by port: another server on this host must not overwrite ours
        port = headers["host"].rpartition("]")[2].partition(":")[2]
        cookie = f"gymposium-{port if port.isdecimal() else 80}"
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        tokens = [value for name, value in query if name == "token"]
        if tokens and scope["method"] in _READS:
            if not self._is_token(tokens[-1]):
                return _no(401, "This is not the token that gymposium view printed.")
            rest = urlencode([(name, value) for name, value in query if name != "token"])
            # relative, so that no path can lead to another site
            onward = RedirectResponse(f"?{rest}", status_code=303)
            onward.set_cookie(cookie, tokens[-1], httponly=True, samesite="strict", path="/")
            return onward
        if self._is_token(headers.get("authorization", "").removeprefix("Bearer ")):
            return None
        try:
            kept = SimpleCookie(headers.get("cookie", "")).get(cookie)
        except CookieError:
            kept = None
        if kept is not None and self._is_token(kept.value):
            return None
        return _no(401, "Open the address that gymposium view printed: it carries a token.")

    def _is_token(self, text: str) -> bool:
        return secrets.compare_digest(text.encode(), (self._token or "").encode())


def _no(status: int, why: str) -> Response:
    return PlainTextResponse(f"{why}\n", status_code=status)


def _name(host: str) -> str:
    """The Host header without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()
