"""Chat servers that lie, hang or send garbage: each fault is a name and what is written to the connection."""

from __future__ import annotations

import gzip
import itertools
import json
import re
import socket
import struct
import threading
import time
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

MEBIBYTE = 2**20


@dataclass(frozen=True)
class Request:
    """One request to the server."""

    connection: socket.socket
    number: int
    """How many came before it."""
    key: str
    """The key that it was sent."""
    move: str
    """A legal move."""

    def send(self, body: bytes, status: str = "200 OK", *headers: str, length: int | None = None) -> None:
        """Answer with this body."""
        named = [f"Content-Length: {len(body) if length is None else length}", *headers]
        if not any(header.startswith("Content-Type") for header in headers):
            named.append("Content-Type: application/json")
        head = "".join(f"{line}\r\n" for line in (f"HTTP/1.1 {status}", *named, ""))
        self.connection.sendall(head.encode() + body)

    def answer(self, status: str = "200 OK", *headers: str, usage: Any = None, content: Any = None) -> None:
        """Answer with a chat completion; the reply is a legal move, unless `content` is given."""
        self.send(self.completion(usage=usage, content=content), status, *headers)

    def completion(self, *, usage: Any = None, content: Any = None) -> bytes:
        """Return the body of a chat completion."""
        message = {"role": "assistant", "content": self.move if content is None else content}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        counts = {"prompt_tokens": 9, "completion_tokens": 2} if usage is None else usage
        return json.dumps({"choices": [choice], "usage": counts}).encode()

    def refuse(self, status: str, message: str, *headers: str) -> None:
        """Answer with an error in OpenAI's form."""
        self.send(json.dumps({"error": {"message": message}}).encode(), status, *headers)


PlayerFailure = Callable[[Request], None]


def _reset(request: Request) -> None:
    request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _drip(request: Request) -> None:
    request.connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    for _ in range(200):
        request.connection.sendall(b" ")
        time.sleep(0.1)


def _endless(start: bytes, chunk: bytes) -> PlayerFailure:
    """Send the start and then the chunk until the client hangs up, or 512 MiB are sent."""

    def send(request: Request) -> None:
        request.connection.sendall(start)
        for _ in range(512 * MEBIBYTE // len(chunk)):
            request.connection.sendall(chunk)

    return send


def _bomb(encoding: str) -> PlayerFailure:
    """Send 256 MiB of blanks, compressed."""
    compress = zlib.compressobj(9, wbits=31 if encoding == "gzip" else 15)
    body = b"".join(compress.compress(b" " * MEBIBYTE) for _ in range(256)) + compress.flush()
    return lambda request: request.send(body, "200 OK", f"Content-Encoding: {encoding}")


def _raw(body: bytes, *headers: str) -> PlayerFailure:
    return lambda request: request.send(body, "200 OK", *headers)


def _at_first(fault: PlayerFailure) -> PlayerFailure:
    """Return a fault that affects every other request. The next one is answered."""
    return lambda request: fault(request) if request.number % 2 == 0 else request.answer()


def _loop(request: Request) -> None:
    request.refuse("307 Temporary Redirect", "elsewhere", "Location: /v1/chat/completions")


FAULTS: dict[str, PlayerFailure] = {
    "hangs up": lambda request: None,
    "hangs up once, then answers": _at_first(lambda request: None),
    "resets the connection": _reset,
    "hangs up in the headers": lambda request: request.connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Le"),
    "body shorter than its length": lambda request: request.send(request.completion(), length=9_999),
    "body longer than its length": lambda request: request.send(request.completion(), length=9),
    "broken chunks": lambda request: request.connection.sendall(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n{}\r\n"
    ),
    "never answers": lambda request: time.sleep(20),
    "drips": _drip,
    "no HTTP": lambda request: request.connection.sendall(b"220 mail.example.org ESMTP\r\n"),
    "endless headers": _endless(b"HTTP/1.1 200 OK\r\n", b"X-More: and more\r\n" * 1_000),
    "endless body": _endless(b"HTTP/1.1 200 OK\r\n\r\n", b" " * MEBIBYTE),
    "endless interim answers": _endless(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1_000),
    "gzip bomb": _bomb("gzip"),
    "deflate bomb": _bomb("deflate"),
    "gzip that is none": lambda request: request.answer("200 OK", "Content-Encoding: gzip"),
    "half a gzip": lambda request: request.send(
        gzip.compress(request.completion())[:-9], "200 OK", "Content-Encoding: gzip"
    ),
    "an encoding nobody asked for": lambda request: request.answer("200 OK", "Content-Encoding: br"),
    "HTML": _raw(b"<!doctype html><title>Welcome</title>", "Content-Type: text/html"),
    "nothing": _raw(b""),
    "no content": lambda request: request.connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n"),
    "null": _raw(b"null"),
    "no choices": _raw(b'{"choices": []}'),
    "nested arrays": _raw(b'{"choices": ' + b"[" * 1_000_000),
    "nested arrays in an error": lambda request: request.send(b"[" * 1_000_000, "400 Bad Request"),
    "choices twice": lambda request: request.send(request.completion()[:-1] + b', "choices": []}'),
    "negative counts": lambda request: request.answer(usage={"prompt_tokens": -5, "completion_tokens": -7}),
    "counts of thousands of digits": lambda request: request.send(
        request.completion().replace(b" 9,", b"9" * 9_999 + b",")
    ),
    "counts that are no numbers": lambda request: request.answer(usage={"prompt_tokens": {}, "completion_tokens": "2"}),
    "NaN": lambda request: request.send(request.completion().replace(b" 9,", b" NaN,")),
    "UTF-16": lambda request: request.send(
        request.completion().decode().encode("utf-16"), "200 OK", "Content-Type: application/json; charset=utf-16"
    ),
    "charset UTF-16 of UTF-8": lambda request: request.answer("200 OK", "Content-Type: text/plain; charset=utf-16"),
    "a charset that is none": lambda request: request.answer("200 OK", "Content-Type: text/plain; charset=base64"),
    "bytes that are no UTF-8": lambda request: request.send(request.completion().replace(b'"stop"', b'"\xff\xfe"')),
    "a lone surrogate": lambda request: request.answer(content="\ud800"),
    "a reply of 2,000,000 characters": lambda request: request.answer(content="x" * 2_000_000),
    "a reply that is an object": lambda request: request.answer(content={"move": "b2"}),
    "redirects to itself": _loop,
    "redirects elsewhere": lambda request: request.refuse("302 Found", "", "Location: http://127.0.0.1:1/v1"),
    "429 for ever, Retry-After: nan": lambda request: request.refuse("429 Slow", "slower", "Retry-After: nan"),
    "429 for ever, Retry-After: 1e99": lambda request: request.refuse("429 Slow", "slower", "Retry-After: 1e99"),
    "429 for ever, a date in the year 99999": lambda request: request.refuse(
        "429 Slow", "slower", "Retry-After: Fri, 31 Dec 99999 23:59:59 GMT"
    ),
    "503 once, then an answer": _at_first(lambda request: request.refuse("503 Busy", "busy", "Retry-After: 0.01")),
    "a status that is none": lambda request: request.refuse("999 What", "what"),
    "control characters in an error": lambda request: request.refuse("400 Bad", "\x1b]0;owned\x07\x1b[2J\u202e"),
    "key in an error": lambda request: request.refuse("401 No", f"bad key {request.key}"),
    "key with JSON escapes in an error": lambda request: request.send(
        b'{"error": {"message": "bad key %b"}}' % "".join(f"\\u{ord(c):04x}" for c in request.key).encode(), "401 No"
    ),
    "key with a slash escaped in an error": lambda request: request.send(
        b'{"error": {"message": "bad key %b"}}' % request.key.replace("/", r"\/").encode(), "500 No"
    ),
    "key in percent escapes, in no JSON": lambda request: request.send(quote(request.key, safe="").encode()),
    "key in base64, in no JSON": lambda request: request.send(b64encode(f"Bearer {request.key}".encode())),
    "key in UTF-16": lambda request: request.send(request.key.encode("utf-16")),
    "key in the reason and the headers": lambda request: request.refuse(
        f"400 {request.key}", "no", f"X-Request-Id: {request.key}", f"Retry-After: {request.key}"
    ),
}  # fmt: skip


@contextmanager
def faulty_server(fault: PlayerFailure) -> Iterator[str]:
    """Start a local server whose every request meets the fault, and yield its address."""
    numbers = itertools.count()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(connection: socket.socket) -> None:
        with connection:
            connection.settimeout(30)
            try:
                if (asked := _asked(connection)) is not None:
                    fault(Request(connection, next(numbers), *asked))
            except OSError:  # the client has hung up
                return

    def listen() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:  # the end
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=listen, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def _asked(connection: socket.socket) -> tuple[str, str] | None:
    """Return the key and a legal move of a request; None where the client hangs up instead."""
    text = b""
    while b"\r\n\r\n" not in text:
        if not (more := connection.recv(65_536)):
            return None
        text += more
    head, _, body = text.partition(b"\r\n\r\n")
    length = int(re.findall(rb"(?i)content-length: *(\d+)", head)[0])
    while len(body) < length:
        body += connection.recv(65_536)
    key = re.findall(rb"(?i)authorization: *Bearer (\S+)", head)[0].decode()
    moves = re.findall(r"Legal moves: (\w+)", json.loads(body)["messages"][-1]["content"])
    return key, moves[-1]
