"""HTTP servers that send more than the client reads."""

from __future__ import annotations

import gzip
import json
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.mcp.making import playing, write_world

from gymposium.errors import GymposiumError
from gymposium_mcp import connection

TOOL = {"name": "echo", "description": "It does.", "inputSchema": {"type": "object"}}
SPACE = b" " * (64 * 2**20)


@contextmanager
def serving(how: str) -> Iterator[str]:
    """The address of a server that misbehaves."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            self.send_error(405)

        def do_DELETE(self) -> None:
            self.send_error(405)

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            elsewhere = f"http://localhost:{server.server_port}/mcp"
            if location := {"elsewhere": elsewhere, "slash": "/mcp/"}.get(how if self.path == "/mcp" else ""):
                self.send_response(307)
                self.send_header("Location", location)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            if "id" not in asked:
                self.answer(202, b"")
                return
            result: dict[str, Any] = {"tools": [TOOL]}
            if asked["method"] == "initialize":
                about = {"name": "big", "version": "1"}
                version = asked["params"]["protocolVersion"]
                result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
            elif how == "pages":
                result = {"tools": [{**TOOL, "description": "x" * 2**20}], "nextCursor": "more"}
            elif how == "empty pages":
                result = {"tools": [], "nextCursor": "more"}
            body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode()
            if how == "long":
                self.answer(200, SPACE + body)
            elif how.startswith("gzip"):
                body = SPACE + body
                for _ in range(how.count("gzip")):
                    body = gzip.compress(body)
                self.answer(200, body, how)
            else:
                self.answer(200, body)

        def answer(self, status: int, body: bytes, encoding: str = "identity") -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Encoding", encoding)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            try:
                self.wfile.write(body)
            except OSError:
                self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/mcp"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("gzip", "unrequested encoding 'gzip'"),
        ("gzip, gzip", "unrequested encoding 'gzip, gzip'"),
        ("long", "more than 16,777,216 bytes"),
        ("pages", "list of tools has more than"),
        ("empty pages", "list of tools has more than"),
        ("elsewhere", "redirects to another server"),
    ],
)
def test_servers_cannot_exhaust_memory(how: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MOST_PAGES", 6)
    with serving(how) as url, playing(write_world(tmp_path, server={"command": None, "url": url})) as game:
        tracemalloc.start()
        try:
            with pytest.raises(GymposiumError, match=reason):
                game.new(0)
            assert tracemalloc.get_traced_memory()[1] < 120_000_000
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("how", ["well", "slash"])
def test_well_behaved_servers_are_used(how: str, tmp_path: Path) -> None:
    with serving(how) as url:
        file = write_world(tmp_path, server={"command": None, "url": url}, tools={"allow": ["echo"]})
        with playing(file) as game:
            assert "echo" in str(game.new(0).events)
