"""Bounded reading of what an MCP server sends, over HTTP or on its standard output."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from typing import Any

import mcp.client.stdio
from anyio.streams.text import TextReceiveStream

from gymposium.errors import GymposiumError

MOST_BYTES = 16 * 2**20
"""Maximum size of one response in bytes, and of one line of a program in characters."""
HEADERS = {"Accept-Encoding": "identity"}
"""Headers that ask for uncompressed responses."""


async def bound_body(response: Any) -> None:
    """Bound the body of an httpx or httpx2 response. An event hook, called before the body is read.

    Raises `GymposiumError` for a compressed response and for a redirection to another server, which would receive the
    token and the arguments of calls, as does reading a response of more than `MOST_BYTES` bytes."""
    if response.is_redirect and not _same_server(response.url, response.url.join(response.headers["location"])):
        raise GymposiumError("it redirects to another server, which is not followed. Write that server's url")
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding != "identity":
        raise GymposiumError(f"its response has the unrequested encoding {encoding[:40]!r}")
    unbounded = response.aiter_raw

    async def aiter_raw(chunk_size: int | None = None) -> AsyncIterator[bytes]:
        length = 0
        async for chunk in unbounded(chunk_size):
            length += len(chunk)
            if length > MOST_BYTES:
                raise GymposiumError(f"its response has more than {MOST_BYTES:,} bytes")
            yield chunk

    response.aiter_raw = aiter_raw


def _same_server(one: Any, other: Any) -> bool:
    """Return whether two addresses are of one server, or the second is the first with TLS on the default ports."""
    upgraded = (one.scheme, one.port, other.scheme, other.port) == ("http", None, "https", None)
    return one.host == other.host and ((one.scheme, one.port) == (other.scheme, other.port) or upgraded)


on_long_line: ContextVar[Callable[[], GymposiumError] | None] = ContextVar("on_long_line", default=None)
"""In the task of a session, what ends it when a program writes a line of more than `MOST_BYTES` characters, and returns
the error. None sets no limit."""


class _BoundedText(TextReceiveStream):
    """The standard output of a program. `mcp` holds a line in memory until its end."""

    _length = 0

    async def receive(self) -> str:
        text = await super().receive()
        end = text.rfind("\n")
        self._length = len(text) - end - 1 if end >= 0 else self._length + len(text)
        if self._length > MOST_BYTES and (end_session := on_long_line.get()):
            raise end_session()
        return text


mcp.client.stdio.TextReceiveStream = _BoundedText  # type: ignore[attr-defined]
# without a handler, each line that is no message would be a traceback on the standard error
for name in ("mcp", "client"):
    logging.getLogger(name).addHandler(logging.NullHandler())
