"""Bounded reading of an MCP server's output, over HTTP or on its standard output."""

from __future__ import annotations

import codecs
import logging
from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from typing import Any

from gymposium.errors import GymposiumError

MOST_BYTES = 16 * 2**20
"""Maximum size of one response in bytes, and of one line of a program in characters."""
HEADERS = {"Accept-Encoding": "identity"}
"""Headers that ask for uncompressed responses."""


async def bound_body(response: Any) -> None:
    """Bound the body of an httpx or httpx2 response: an event hook, called before the body is read.

    Raises `GymposiumError` for a compressed response, and for a redirection to another server, which would receive the
    token. Reading more than `MOST_BYTES` bytes also raises it."""
    if response.is_redirect and not _is_same_server(response.url, response.url.join(response.headers["location"])):
        raise GymposiumError("it redirects to another server, which is not followed. Write that server's url")
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding != "identity":
        raise GymposiumError(f"its response has the unrequested encoding {encoding[:40]!r}. Turn it off on the server")
    unbounded = response.aiter_raw

    async def aiter_raw(chunk_size: int | None = None) -> AsyncIterator[bytes]:
        length = 0
        async for chunk in unbounded(chunk_size):
            length += len(chunk)
            if length > MOST_BYTES:
                raise GymposiumError(f"its response has more than {MOST_BYTES:,} bytes. Use a server that returns less")
            yield chunk

    response.aiter_raw = aiter_raw


def _is_same_server(one: Any, other: Any) -> bool:
    """Return whether two addresses have the same server, apart from an upgrade to TLS on the default ports."""
    upgraded = (one.scheme, one.port, other.scheme, other.port) == ("http", None, "https", None)
    return one.host == other.host and ((one.scheme, one.port) == (other.scheme, other.port) or upgraded)


on_bad_output: ContextVar[Callable[[str], GymposiumError] | None] = ContextVar("on_bad_output", default=None)
"""The current session's callback for bad output: a line of more than `MOST_BYTES` characters, or invalid UTF-8. It ends
the session for the given reason and returns the error. Without a callback, output is not limited."""
BOUNDED_UTF8 = "gymposium_mcp_bounded_utf8"
"""The encoding of a program's standard output. In `mcp`, line length can only be limited through an encoding."""


class _BoundedDecoder(codecs.getincrementaldecoder("utf-8")):  # type: ignore[misc]
    _length = 0

    def decode(self, data: Any, final: bool = False) -> str:
        end_session = on_bad_output.get()
        try:
            text: str = super().decode(data, final)
        except UnicodeDecodeError as error:
            if end_session is None:
                raise
            wrong = error.object[error.start : error.start + 8]
            raise end_session(
                f"the server wrote {wrong!r}, which is not UTF-8, to its standard output. Write logs to standard error."
            ) from error
        end = text.rfind("\n")
        self._length = len(text) - end - 1 if end >= 0 else self._length + len(text)
        if self._length > MOST_BYTES and end_session is not None:
            raise end_session(
                f"the server wrote a line of more than {MOST_BYTES:,} characters. Use a server that returns less."
            )
        return text


def _find_codec(name: str) -> codecs.CodecInfo | None:
    if name != BOUNDED_UTF8:
        return None
    utf8 = codecs.lookup("utf-8")
    return codecs.CodecInfo(utf8.encode, utf8.decode, incrementaldecoder=_BoundedDecoder, name=name)


codecs.register(_find_codec)
# without a handler, each line that is no message would be a traceback on the standard error
for name in ("mcp", "client"):
    logging.getLogger(name).addHandler(logging.NullHandler())
