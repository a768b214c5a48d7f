"""Bounded reading of what an MCP server sends over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from gymposium.errors import GymposiumError

MOST_BYTES = 16 * 2**20
"""Maximum size of one response in bytes."""
HEADERS = {"Accept-Encoding": "identity"}
"""Headers that ask for uncompressed responses."""


async def bound_body(response: Any) -> None:
    """Bound the body of a response of httpx or httpx2. An event hook, called before the body is read.

    Raises `GymposiumError` for a compressed response, as does reading one of more than `MOST_BYTES` bytes."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding != "identity":
        raise GymposiumError(f"its response is encoded as {encoding[:40]!r}, which was not asked for")
    unbounded = response.aiter_raw

    async def aiter_raw(chunk_size: int | None = None) -> AsyncIterator[bytes]:
        length = 0
        async for chunk in unbounded(chunk_size):
            length += len(chunk)
            if length > MOST_BYTES:
                raise GymposiumError(f"its response has more than {MOST_BYTES:,} bytes")
            yield chunk

    response.aiter_raw = aiter_raw
