"""The wire to a chat service: the one place that sees the key.

The key is read from the environment for each attempt, goes into that attempt's header, and is gone. The library above
never has it, so it stands in none of its attributes, logs and exceptions; and where a server repeats it in an answer,
it is taken out before anybody reads that.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from gymposium_agents.engines.api_settings import ApiSettings

HIDDEN = b"[key]"
_RETRY = "x-stainless-retry-count"
"""The library's header with the number of attempts before this one."""
_OF_THE_BODY = ("content-encoding", "content-length", "transfer-encoding")


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
        sent = await self._with_key(request)
        try:
            async with asyncio.timeout(self._settings.timeout):
                response = await self._inner.handle_async_request(sent)
                body = await response.aread()
        except TimeoutError:
            raise httpx.ReadTimeout("no whole answer in time", request=request) from None
        headers = [(name, value) for name, value in response.headers.items() if name not in _OF_THE_BODY]
        return httpx.Response(response.status_code, headers=headers, content=self._without_key(body), request=request)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def _with_key(self, request: httpx.Request) -> httpx.Request:
        headers = request.headers.copy()
        headers.pop("Authorization", None)
        if (key := self._settings.read_key()) is not None:
            headers["Authorization"] = f"Bearer {key}"
        return httpx.Request(
            request.method, request.url, headers=headers, content=await request.aread(), extensions=request.extensions
        )

    def _without_key(self, body: bytes) -> bytes:
        key = self._settings.read_key()
        return body if key is None else body.replace(key.encode(), HIDDEN)


def _proxy(settings: ApiSettings) -> str | None:
    """The proxy that the environment names for this service."""
    parts = urlsplit(settings.base_url)
    if settings.is_local or proxy_bypass(parts.hostname or ""):
        return None
    return getproxies().get(parts.scheme)
