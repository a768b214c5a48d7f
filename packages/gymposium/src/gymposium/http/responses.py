"""Bounded reading of plain or compressed HTTP response bodies from untrusted servers."""

from __future__ import annotations

import zlib
from collections.abc import AsyncGenerator

import httpx

MAX_BODY = 4 * 2**20
"""Maximum size of a response in bytes, compressed and decompressed."""

_ZLIB_OR_GZIP = 47
"""Value of zlib's `wbits` that accepts both formats and detects them by the header."""


class BadBody(httpx.TransportError):
    """A body that is too large or does not match its headers."""


async def read_body(response: httpx.Response, most: int = MAX_BODY) -> bytes:
    """Read and decompress a response's body, with at most `most` bytes in memory.

    Raises `BadBody` if the body is larger than `most` bytes or cannot be decompressed."""
    return b"".join([piece async for piece in _decompress(response, most)])


async def read_lines(response: httpx.Response, most: int = MAX_BODY) -> AsyncGenerator[bytes, None]:
    """Yield a body's lines as they arrive, without newlines. Raises the same errors as `read_body`."""
    begun = b""
    async for piece in _decompress(response, most):
        *lines, begun = (begun + piece).split(b"\n")
        for line in lines:
            yield line.removesuffix(b"\r")
    if begun:
        yield begun


async def _decompress(response: httpx.Response, most: int) -> AsyncGenerator[bytes, None]:
    """Yield a body's decompressed chunks, at most `most` bytes in total."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", "deflate"):
        raise BadBody(f"it has the unrequested encoding {encoding[:40]!r}")
    decompress = None if encoding == "identity" else zlib.decompressobj(_ZLIB_OR_GZIP)
    length = 0
    async for chunk in response.aiter_raw():
        try:
            piece = chunk if decompress is None else decompress.decompress(chunk, most + 1 - length)
        except zlib.error as error:
            raise BadBody(f"it is not valid {encoding}, as its header claims ({error})") from None
        length += len(piece)
        if length > most or (decompress is not None and decompress.unconsumed_tail):
            raise BadBody(f"it has more than {most:,} bytes")
        yield piece
    if decompress is not None and not decompress.eof:
        raise BadBody(f"its {encoding} data ends too early")
