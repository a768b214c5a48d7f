"""HTTP transport to a chat service, the only code that handles the key.

The key is read from the environment for each attempt and put into that attempt's header. The openai library never sees
it, so its attributes, logs and exceptions do not contain it. If a server repeats the key in an answer, it is removed
before the answer is passed on. The library gets a body of bounded size, declared as UTF-8, and the few headers it
needs.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from gymposium.http.responses import read_body
from gymposium.http.tls import get_tls_context
from gymposium_agents.engines.api_errors import RETRY_COUNT, find_kind, make_rate_limit_headers
from gymposium_agents.engines.api_settings import ApiSettings
from gymposium_agents.engines.failures_in_answers import find_failure
from gymposium_agents.engines.secrets import remove_secret

_PADDING = re.compile(r"(?:[\s\ufeff]*:[^\n]*\n)*+[\s\ufeff]*")
"""Padding before an answer: a byte order mark, and white space or comments that keep the connection open, such as
OpenRouter's `: OPENROUTER PROCESSING`."""
_SHOULD_RETRY = "x-should-retry"
_NEEDED = ("retry-after", "retry-after-ms", _SHOULD_RETRY)
"""Response headers that the library obeys."""


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


class Wire(httpx.AsyncBaseTransport):
    """A transport that delays each attempt to keep the pace, adds the key and limits the attempt's time."""

    def __init__(self, settings: ApiSettings, counts: Counter[str]) -> None:
        self._settings = settings
        self._counts = counts
        self._pace = None if settings.rpm is None else Pace(settings.rpm)
        self._inner = httpx.AsyncHTTPTransport(
            verify=get_tls_context(),
            proxy=_find_proxy(settings),
            limits=httpx.Limits(max_connections=settings.at_once, max_keepalive_connections=settings.at_once),
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        attempt = int(request.headers.get(RETRY_COUNT, "0"))
        if attempt:
            self._counts["retries"] += 1
        if self._pace is not None:
            await asyncio.sleep(self._pace.wait(time.monotonic()))
        key = self._settings.read_key()
        authorized = await _authorize(request, key)
        try:
            async with asyncio.timeout(self._settings.timeout):
                response = await self._inner.handle_async_request(authorized)
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
        if status == 200 and (failure := find_failure(content)) is not None:
            status, content = failure  # the library retries it like any failure with this status
        if _SHOULD_RETRY not in headers and (kind := find_kind(status, content)) is not None:
            headers[_SHOULD_RETRY] = "true" if kind == "transient" else "false"
        if status == 429 and _SHOULD_RETRY not in headers:
            headers = make_rate_limit_headers(content, attempt) | headers
        return httpx.Response(status, headers=headers, content=content, request=request)

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _authorize(request: httpx.Request, key: str | None) -> httpx.Request:
    """Return the request to send, with the key in its header."""
    headers = request.headers.copy()
    headers.pop("Authorization", None)
    headers["Accept-Encoding"] = "gzip"
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    return httpx.Request(
        request.method, request.url, headers=headers, content=await request.aread(), extensions=request.extensions
    )


def _find_proxy(settings: ApiSettings) -> str | None:
    """Return the environment's proxy for this service, or None for a direct connection."""
    parts = urlsplit(settings.base_url)
    if settings.is_local or proxy_bypass(parts.hostname or ""):
        return None
    return getproxies().get(parts.scheme)
