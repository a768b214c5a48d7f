"""HTTP transport to a chat service, the only code that handles the keys.

A key is read from the environment for each attempt and put into that attempt's header. The openai library never sees
it, so its attributes, logs and exceptions do not contain it. If a server repeats the key in an answer, it is removed
before the answer is passed on. The library gets a body of bounded size, declared as UTF-8, and the few headers it
needs.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter, deque
from collections.abc import Mapping
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from gymposium.http.responses import read_body
from gymposium.http.tls import get_tls_context
from gymposium_agents.engines.api_dialect import ApiDialect
from gymposium_agents.engines.api_errors import RETRY_COUNT, find_kind, make_rate_limit_headers, read_retry_delay
from gymposium_agents.engines.api_settings import ApiSettings, Endpoint
from gymposium_agents.engines.failures_in_answers import find_failure
from gymposium_agents.engines.secrets import remove_secret

_PADDING = re.compile(r"(?:[\s\ufeff]*:[^\n]*\n)*+[\s\ufeff]*")
"""Padding before an answer: a byte order mark, and white space or comments that keep the connection open, such as
OpenRouter's `: OPENROUTER PROCESSING`."""
_SHOULD_RETRY = "x-should-retry"
_NEEDED = ("retry-after", "retry-after-ms", _SHOULD_RETRY)
"""Response headers that the library obeys."""
_OF_ONE_KEY = (401, 402, 403, 429)
"""Statuses of a failure that concerns one key."""
_REST = 30.0
"""Seconds that an address or key rests after a failure, if the service does not say."""


class Pace:
    """Even spacing of requests, at `per_minute` requests per minute."""

    def __init__(self, per_minute: int) -> None:
        self._gap = 60.0 / per_minute
        self._next = 0.0

    def wait(self, now: float) -> float:
        """Reserve the next start and return its distance from `now`, in seconds."""
        start = max(now, self._next)
        self._next = start + self._gap
        return start - now


class _Route:
    """The connections to one address, with one key."""

    def __init__(self, endpoint: Endpoint, most: int) -> None:
        self.endpoint = endpoint
        self.rests_until = 0.0
        """When the route is used like the others again, after a failure."""
        self.connections = httpx.AsyncHTTPTransport(
            verify=get_tls_context(),
            proxy=_find_proxy(endpoint),
            limits=httpx.Limits(max_connections=most, max_keepalive_connections=most),
        )


class Wire(httpx.AsyncBaseTransport):
    """A transport that delays each attempt to keep the pace, adds the key and limits the attempt's time.

    With several addresses or keys, requests take turns. An attempt that fails at one goes to the next at once. The one
    that failed rests for as long as it asked, and is used meanwhile only if all others fail."""

    def __init__(self, settings: ApiSettings, dialect: ApiDialect, counts: Counter[str]) -> None:
        self._settings = settings
        self._dialect = dialect
        self._counts = counts
        self._pace = None if settings.rpm is None else Pace(settings.rpm)
        self._routes = deque(_Route(endpoint, settings.at_once) for endpoint in settings.endpoints)
        self._first = settings.endpoints[0].base_url

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        attempt = int(request.headers.get(RETRY_COUNT, "0"))
        if attempt:
            self._counts["retries"] += 1
        self._routes.rotate(-1)
        routes = sorted(self._routes, key=lambda route: route.rests_until > time.monotonic())
        for route in routes[:-1]:
            try:
                response = await self._send(request, route, attempt)
            except httpx.TransportError:
                rest = _REST
            else:
                if not _is_failover(response):
                    return response
                rest = read_retry_delay(response.headers) or _REST
            route.rests_until = time.monotonic() + rest
            self._counts["failovers"] += 1
        return await self._send(request, routes[-1], attempt)

    async def _send(self, request: httpx.Request, route: _Route, attempt: int) -> httpx.Response:
        """Send one attempt on one route."""
        if self._pace is not None:
            await asyncio.sleep(self._pace.wait(time.monotonic()))
        key = route.endpoint.read_key()
        url = route.endpoint.base_url + str(request.url).removeprefix(self._first)
        authorized = await _authorize(request, url, {} if key is None else self._dialect.make_headers(key))
        try:
            async with asyncio.timeout(self._settings.timeout):
                response = await route.connections.handle_async_request(authorized)
                try:
                    body = await read_body(response)
                finally:
                    await response.aclose()
        except TimeoutError:
            raise httpx.ReadTimeout("no whole answer in time", request=request) from None
        headers = {"content-type": "application/json; charset=utf-8"}
        headers |= {name: remove_secret(response.headers[name], key) for name in _NEEDED if name in response.headers}
        # decoded and encoded again, without loss in any encoding
        text = _PADDING.sub("", body.decode("utf-8", "surrogateescape"), count=1)
        content = remove_secret(text, key).encode("utf-8", "surrogateescape")
        status = response.status_code
        if status == 200 and (failure := find_failure(content, self._dialect.find_error)) is not None:
            status, content = failure  # the library retries it like any failure with this status
        if _SHOULD_RETRY not in headers and (kind := find_kind(status, content)) is not None:
            headers[_SHOULD_RETRY] = "true" if kind == "transient" else "false"
        if status == 429 and _SHOULD_RETRY not in headers:
            headers = make_rate_limit_headers(content, attempt) | headers
        return httpx.Response(status, headers=headers, content=content, request=request)

    async def aclose(self) -> None:
        for route in self._routes:
            await route.connections.aclose()


def _is_failover(response: httpx.Response) -> bool:
    """Return True if another key or address may answer what this one did not."""
    kind = find_kind(response.status_code, response.content)
    return kind == "transient" or (
        kind is None and (response.status_code in _OF_ONE_KEY or response.status_code >= 500)
    )


async def _authorize(request: httpx.Request, url: str, secret: Mapping[str, str]) -> httpx.Request:
    """Return the request to send, with the headers that hold the key."""
    headers = request.headers.copy()
    headers.pop("Authorization", None)
    headers["Accept-Encoding"] = "gzip"
    headers.update(secret)
    return httpx.Request(
        request.method, url, headers=headers, content=await request.aread(), extensions=request.extensions
    )


def _find_proxy(endpoint: Endpoint) -> str | None:
    """Return the environment's proxy for this address, or None for a direct connection."""
    parts = urlsplit(endpoint.base_url)
    if endpoint.is_local or proxy_bypass(parts.hostname or ""):
        return None
    return getproxies().get(parts.scheme)
