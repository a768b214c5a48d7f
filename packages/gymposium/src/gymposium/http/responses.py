"""Reading of HTTP response bodies from untrusted servers, plain or compressed, with a bounded size."""

from __future__ import annotations

import zlib
from collections.abc import AsyncGenerator

import httpx

MAX_BODY = 4 * 2**20
"""Maximum size of an answer in bytes, compressed and decompressed."""

_ZLIB_OR_GZIP = 47
"""Value of zlib's `wbits` that accepts both formats and detects them by the header."""


class BadBody(httpx.TransportError):
    """Error for a body that is too large or does not match its headers."""


async def read_body(response: httpx.Response, most: int = MAX_BODY) -> bytes:
    """Return the decompressed body of a response that is being received. At most `most` bytes are held.

    Raises `BadBody` for a body of more than `most` bytes, or one that cannot be decompressed."""
    return b"".join([piece async for piece in _pieces(response, most)])


async def read_lines(response: httpx.Response, most: int = MAX_BODY) -> AsyncGenerator[bytes, None]:
    """Yield the lines of a body as they are received, without their ends. The errors are those of `read_body`."""
    begun = b""
    async for piece in _pieces(response, most):
        *lines, begun = (begun + piece).split(b"\n")
        for line in lines:
            yield line.removesuffix(b"\r")
    if begun:
        yield begun


async def _pieces(response: httpx.Response, most: int) -> AsyncGenerator[bytes, None]:
    """The decompressed pieces of a body, `most` bytes together."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", "deflate"):
        raise BadBody(f"it is encoded as {encoding[:40]!r}, which was not asked for")
    decompress = None if encoding == "identity" else zlib.decompressobj(_ZLIB_OR_GZIP)
    length = 0
    async for chunk in response.aiter_raw():
        try:
            piece = chunk if decompress is None else decompress.decompress(chunk, most + 1 - length)
        except zlib.error as error:
            raise BadBody(f"it is not the {encoding} that its header says ({error})") from None
        length += len(piece)
        if length > most or (decompress is not None and decompress.unconsumed_tail):
            raise BadBody(f"it has more than {most:,} bytes")
        yield piece
    if decompress is not None and not decompress.eof:
        raise BadBody(f"its {encoding} ends too early")
