"""The client of `gymposium serve`, against misbehaving servers."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from gymposium.http import client
from gymposium.http.client import Server, ServerError

Answering = Callable[..., str]
SESSION = {"id": "s", "base_url": "http://x/v1", "group": "g", "member": 0, "seed": 7, "key": "k"}


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Iterator[Answering]:
    """`answering(status, body, headers)` serves this one answer, and returns the address."""
    monkeypatch.setattr(client, "PATIENCE", 0.2)
    servers: list[HTTPServer] = []

    def serve(status: int, body: bytes, headers: Mapping[str, str] | None = None) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                assert self.headers["Accept-Encoding"] == "identity"
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: object) -> None:
                pass

        servers.append(HTTPServer(("127.0.0.1", 0), Handler))
        threading.Thread(target=servers[-1].serve_forever, args=(0.01,), daemon=True).start()
        return f"http://127.0.0.1:{servers[-1].server_port}"

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


def begin(address: str) -> Any:
    with Server(address) as server:
        return server.session("g")


def test_session_begins(answering: Answering) -> None:
    assert begin(answering(201, json.dumps(SESSION).encode(), {"x-gymposium-run": "\xff"})).seed == 7


@pytest.mark.parametrize(
    "seconds", ["Wed, 21 Oct 2026 07:28:00 GMT", "1e18", "inf", "nan", "-5", "999999", "9" * 400, "\u00b2", ""]
)
@pytest.mark.parametrize("status", [429, 503])
def test_server_cannot_prolong_the_clients_wait(answering: Answering, status: int, seconds: str) -> None:
    address = answering(status, b'{"error": {"message": "busy"}}', {"Retry-After": seconds})
    with pytest.raises(ServerError, match=f"{status}: busy"):
        begin(address)


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b"",
        b"[]",
        b"null",
        b"{}",
        b"\xff",
        b"[" * 200_000,
        b'{"id": NaN}',
        *(json.dumps({**SESSION, name: None}).encode() for name in SESSION),
        *(json.dumps({**SESSION, name: [1]}).encode() for name in SESSION),
        *(json.dumps({**SESSION, name: text}).encode() for name in ("id", "key", "base_url") for text in "é\ud800\n"),
    ],
)
def test_malformed_response_is_an_error(answering: Answering, body: bytes) -> None:
    with pytest.raises(ServerError, match=r"The response is not from a gymposium server: .*\. Check the address\."):
        begin(answering(200, body))


@pytest.mark.parametrize("encoding", ["gzip", "gzip, gzip", "br", "zstd", "deflate", "unknown"])
def test_compressed_response_is_refused(answering: Answering, encoding: str) -> None:
    with pytest.raises(ServerError, match="it is compressed"):
        begin(answering(200, gzip.compress(json.dumps(SESSION).encode()), {"Content-Encoding": encoding}))


@pytest.mark.parametrize("status", [200, 400])
def test_huge_response_is_refused(answering: Answering, monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    monkeypatch.setattr(client, "_MOST_BYTES", 1000)
    with pytest.raises(ServerError, match="it has more than 1,000 bytes"):
        begin(answering(status, b" " * 2000))


@pytest.mark.parametrize("charset", ["utf-8", "rot13", "hex_codec", "idna"])
@pytest.mark.parametrize(
    "body", [b"\x1b[31m\xff" + b"x" * 9999, json.dumps({"error": {"message": "\x1b[31m" + "x" * 9999}}).encode()]
)
def test_server_messages_are_escaped_and_truncated(answering: Answering, body: bytes, charset: str) -> None:
    with pytest.raises(ServerError, match=r"400: \u241b\[31m") as caught:
        begin(answering(400, body, {"Content-Type": f"text/html; charset={charset}"}))
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 600
