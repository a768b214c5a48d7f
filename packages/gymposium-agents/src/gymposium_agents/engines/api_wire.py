"""The wire to a chat service: the one place that sees the key.

The key is read from the environment for each attempt, goes into that attempt's header, and is gone. The library above
never has it, so it stands in none of its attributes, logs and exceptions; and where a server repeats it in an answer,
it is taken out before anybody reads that. What goes up is a body of bounded size, said to be UTF-8, and the few headers
that the library needs.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from gymposium_agents.engines.api_settings import ApiSettings
from gymposium_agents.engines.bodies import read_body
from gymposium_agents.engines.secrets import without_secret

_RETRY = "x-stainless-retry-count"
"""The library's header with the number of attempts before this one."""
_NEEDED = ("retry-after", "retry-after-ms", "x-should-retry")
"""The headers of an answer that the library obeys."""


class Pace:
    """Begins spread evenly: `per_minute` of them in each minute."""

    def __init__(self, per_minute: int) -> None:
        self._gap = 60.0 / per_minute
        self._next = 0.0

    def wait(self, now: float) -> float:
        """Takes the next place and says how many seconds from `now` it is."""
        start = max(now, self._next)
        self._next = start + self._gap
        return start - now


class Wire(httpx.AsyncBaseTransport):
    """One attempt at a time goes through here: it waits for its place, gets the key, and has its time."""

    def __init__(self, settings: ApiSettings, counts: Counter[str]) -> None:
        self._settings = settings
        self._counts = counts
        self._pace = None if settings.rpm is None else Pace(settings.rpm)
        self._inner = httpx.AsyncHTTPTransport(
            proxy=_proxy(settings),
            limits=httpx.Limits(max_connections=settings.at_once, max_keepalive_connections=settings.at_once),
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if int(request.headers.get(_RETRY, "0")):
            self._counts["retries"] += 1
        if self._pace is not None:
            await asyncio.sleep(self._pace.wait(time.monotonic()))
        key = self._settings.read_key()
        sent = await _sent(request, key)
        try:
            async with asyncio.timeout(self._settings.timeout):
                response = await self._inner.handle_async_request(sent)
                try:
                    body = await read_body(response)
                finally:
                    await response.aclose()
        except TimeoutError:
            raise httpx.ReadTimeout("no whole answer in time", request=request) from None
        headers = {"content-type": "application/json; charset=utf-8"}
        headers |= {name: without_secret(response.headers[name], key) for name in _NEEDED if name in response.headers}
        # as text and back, whatever it is encoded in
        content = without_secret(body.decode("utf-8", "surrogateescape"), key).encode("utf-8", "surrogateescape")
        return httpx.Response(response.status_code, headers=headers, content=content, request=request)

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _sent(request: httpx.Request, key: str | None) -> httpx.Request:
    """The request as it goes out."""
    headers = request.headers.copy()
    headers.pop("Authorization", None)
    headers["Accept-Encoding"] = "gzip"
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    return httpx.Request(
        request.method, request.url, headers=headers, content=await request.aread(), extensions=request.extensions
    )


def _proxy(settings: ApiSettings) -> str | None:
    """The proxy that the environment names for this service."""
    parts = urlsplit(settings.base_url)
    if settings.is_local or proxy_bypass(parts.hostname or ""):
        return None
    return getproxies().get(parts.scheme)
