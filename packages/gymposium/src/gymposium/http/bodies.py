"""Reading request bodies within size and time limits, and parsing them strictly."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message, Receive

from gymposium.http.requests import RequestRefusal
from gymposium.util.visible import shorten

MOST_BYTES = 4 * 2**20
"""Maximum number of bytes in a body or a websocket message."""
PARSED = "gymposium.json"
"""Key of the parsed body in a request's scope."""
SECONDS = 30.0
"""Time limit in seconds for a body to arrive."""


def has_body(headers: Headers) -> bool:
    """Return whether a request has a body."""
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


async def read_body(headers: Headers, receive: Receive, *, most: int, seconds: float) -> bytes:
    """Read a request's body.

    Raises `RequestRefusal` if the content type is not JSON, the body is larger than `most` bytes, or it takes longer
    than `seconds`. Also raises `ClientDisconnect`."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RequestRefusal(
            415, "not_json", f"The body must be JSON, not {kind[:40]!r}. Send Content-Type: application/json."
        )
    declared = headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > most:
        raise _make_too_large_refusal(most)
    parts = bytearray()
    try:
        async with asyncio.timeout(seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                parts += message.get("body", b"")
                if len(parts) > most:
                    raise _make_too_large_refusal(most)
                if not message.get("more_body", False):
                    return bytes(parts)
    except TimeoutError:
        raise RequestRefusal(
            408, "too_slow", f"The body did not arrive within {seconds:g} seconds. Send the request again."
        ) from None


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Return an ASGI `receive` that first repeats the body, then passes on later messages."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return waiting.pop() if waiting else await receive()

    return receive_again


def read_json_object(request: Request, *, empty: bool = False) -> dict[str, Any]:
    """Return the JSON object in the body of a request that passed an `ApiGuard`.

    Raises `RequestRefusal` if the body is not a JSON object. With `empty`, a missing body is allowed."""
    value = request.scope.get(PARSED, {} if empty else None)
    if not isinstance(value, dict):
        raise RequestRefusal(400, "not_an_object", f"The body must be a JSON object, not {shorten(value)}.")
    return value


def _make_too_large_refusal(most: int) -> RequestRefusal:
    return RequestRefusal(413, "too_large", f"The body is larger than {most:,} bytes.")
