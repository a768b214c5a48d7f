"""A chat server of any dialect on loopback for tests, with prescribed answers and faults."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pydantic import TypeAdapter

PATHS = ("/v1/chat/completions", "/v1/messages", "/v1/responses")


@dataclass
class Answer:
    """An answer of the server."""

    status: int = 200
    body: Any = None
    """The body: an object that is sent as JSON, or raw bytes."""
    headers: dict[str, str] = field(default_factory=dict)
    until: threading.Event | None = None
    """The event that the server awaits before it answers."""


@dataclass
class ChatRequest:
    """A request of a client."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def messages(self) -> list[dict[str, str]]:
        return list(self.body["messages"])


def completion(text: object, finish: str | None = "stop", *, usage: bool = True, **message: Any) -> Answer:
    """A valid answer, with a usage of 10 prompt tokens and 2 completion tokens."""
    body: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}
        ],
    }
    if usage:
        body["usage"] = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
    return Answer(body=body)


def refusal(status: int, message: str = "no", *, headers: dict[str, str] | None = None, **error: Any) -> Answer:
    """An error in OpenAI's form; if the client retries, it does so at once."""
    return Answer(status, {"error": {"message": message, **error}}, headers or {"Retry-After": "0.01"})


def check_body(kind: Any, body: dict[str, Any]) -> None:
    """Raise `ValidationError` unless a body has this type of a service's library, down to its last part."""

    def read(value: Any) -> None:
        if isinstance(value, Mapping):
            value = value.values()
        if isinstance(value, Iterable) and not isinstance(value, str):
            for one in value:  # pydantic checks an iterable when it is read
                read(one)

    read(_make_adapter(kind).validate_python(body))


@cache
def _make_adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)  # slow, and kept because its iterators need it


class ChatServer:
    """The requests of a server, and how many it handled at once."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: list[ChatRequest] = []
        self.under_way = 0
        self.most_at_once = 0
        self.lock = threading.Lock()


@contextmanager
def chat_server(answer: Callable[[ChatRequest, int], Answer]) -> Iterator[ChatServer]:
    """A running server; `answer` is called with each request and its number, from 0."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["Content-Length"]))
            asked = ChatRequest(
                self.path, {name.lower(): value for name, value in self.headers.items()}, json.loads(sent)
            )
            with server.lock:
                number = len(server.asked)
                server.asked.append(asked)
                server.under_way += 1
                server.most_at_once = max(server.most_at_once, server.under_way)
            given = answer(asked, number) if self.path in PATHS else refusal(404, "no such path")
            if given.until is not None:
                given.until.wait(30)
            with server.lock:
                server.under_way -= 1
            body = given.body if isinstance(given.body, bytes) else json.dumps(given.body).encode()
            try:
                self.send_response(given.status)
                for name, value in {"Content-Type": "application/json", **given.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except ConnectionError:  # the client has closed the connection
                self.close_connection = True

        def log_message(self, *args: object) -> None:
            pass

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.daemon_threads = True
    server = ChatServer(f"http://127.0.0.1:{listener.server_address[1]}")
    thread = threading.Thread(target=lambda: listener.serve_forever(poll_interval=0.01), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()
