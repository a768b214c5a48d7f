"""Listening sockets: addresses, names, and connection limits."""

from __future__ import annotations

import asyncio
import http.client
import resource
import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket
from websockets.sync.client import connect

from gymposium.errors import BadOption
from gymposium.http import listening
from gymposium.http.app import build_api
from gymposium.http.listening import Listener
from gymposium_viewer.app import make_app, make_viewer

Start = Callable[[ASGIApp], Listener]


def test_port_0_takes_a_free_port() -> None:
    with Listener("127.0.0.1", 0) as listener:
        assert listener.port > 0
        assert listener.address == f"http://127.0.0.1:{listener.port}"
        assert listener.names == ("127.0.0.1", "127.0.0.1")


def test_address_uses_the_first_given_name() -> None:
    with Listener("0.0.0.0", 0, names=["games.example", "other"], token="s3cret") as listener:
        assert listener.address == f"http://games.example:{listener.port}"
        assert listener.names == (socket.gethostname(), "0.0.0.0", "games.example", "other")
    with Listener("0.0.0.0", 0, token="s3cret") as listener:
        assert listener.address == f"http://{socket.gethostname()}:{listener.port}"


def test_ipv6_address_is_bracketed() -> None:
    try:
        listener = Listener("::1", 0)
    except BadOption as error:
        pytest.skip(f"no IPv6 on this machine: {error}")
    with listener:
        assert listener.address == f"http://[::1]:{listener.port}"


def test_other_machines_need_a_token() -> None:
    with pytest.raises(
        BadOption, match=r"other machines could reach this address\. Set the environment variable A_TOKEN"
    ):
        Listener("0.0.0.0", 0, variable="A_TOKEN")


@pytest.mark.parametrize(("host", "port"), [("192.0.2.1", 0), ("no such host", 0)])
def test_unavailable_address_is_an_error(host: str, port: int) -> None:
    with pytest.raises(BadOption, match=r"Cannot listen on .*Try --port 0"):
        Listener(host, port, token="s3cret")


def test_port_in_use_is_an_error() -> None:
    with Listener("127.0.0.1", 0) as listener, pytest.raises(BadOption, match="Cannot listen on"):
        Listener("127.0.0.1", listener.port)


APPS: dict[str, Callable[[Path], ASGIApp]] = {
    "api": lambda directory: build_api([], token="s3cret"),
    "viewer": lambda directory: make_app(make_viewer(directory), token="s3cret"),
}
HEAD = b"POST / HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\nContent-Length: 1000\r\n\r\n{"


def read_all(connection: socket.socket) -> bytes:
    """What a server sends until it ends the connection."""
    received = b""
    try:
        while piece := connection.recv(65536):
            received += piece
    except ConnectionResetError:
        pass
    return received


@pytest.mark.parametrize(("host", "kind"), [(b"evil", b""), (b"localhost", b"text/plain"), (b"localhost", b"")])
@pytest.mark.parametrize("app", APPS)
def test_refused_request_with_missing_body_ends_its_connection(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, app: str, host: bytes, kind: bytes
) -> None:
    monkeypatch.setattr(listening, "REST_SECONDS", 0.1)
    port = start(APPS[app](tmp_path)).port
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(HEAD % (host, kind))
        assert read_all(connection).split()[1] in (b"401", b"403", b"415", b"421")


def test_refused_request_with_complete_body_keeps_its_connection(start: Start) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", start(build_api([])).port, timeout=60)) as connection:
        connection.connect()
        first = connection.sock
        for _ in range(2):
            connection.request("POST", "/", b"x" * 1000, {"Host": "evil.example"})
            answer = connection.getresponse()
            assert (answer.status, bool(answer.read())) == (421, True)
        assert connection.sock is first


def test_requests_cancelled_at_shutdown_are_not_logged(capsys: pytest.CaptureFixture[str]) -> None:
    begun = threading.Event()

    async def wait(request: Request) -> Response:
        begun.set()
        await asyncio.sleep(60)
        return Response()

    with Listener("127.0.0.1", 0) as listener:
        server = listener.server(build_api([Route("/", wait)]))
        thread = threading.Thread(target=listener.run, args=(server,))
        thread.start()
        with socket.create_connection(("127.0.0.1", listener.port)) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert begun.wait(60)
            server.should_exit = True
            thread.join()
    assert capsys.readouterr().err == ""


def test_messages_are_not_compressed(start: Start) -> None:
    """A few bytes of a compressed message become megabytes."""

    async def talk(websocket: WebSocket) -> None:
        await websocket.accept()
        await websocket.close()

    with connect(
        f"ws://127.0.0.1:{start(build_api([WebSocketRoute('/', talk)])).port}/", compression="deflate"
    ) as client:
        assert client.response is not None
        assert "sec-websocket-extensions" not in client.response.headers


def test_request_time_limits_do_not_apply_to_websockets(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("BODY_SECONDS", "REST_SECONDS"):
        monkeypatch.setattr(listening, limit, 0.0)

    async def echo(websocket: WebSocket) -> None:
        await websocket.accept()
        async for text in websocket.iter_text():
            await websocket.send_text(text)

    with connect(f"ws://127.0.0.1:{start(build_api([WebSocketRoute('/', echo)])).port}/") as client:
        for number in range(5):
            client.send(str(number))
            assert client.recv() == str(number)


def test_incomplete_form_ends_its_connection(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(listening, "BODY_SECONDS", 0.1)
    port = start(make_app(make_viewer(tmp_path))).port
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        head = HEAD.replace(b"POST / ", b"POST /play/new.html ").replace(b"Content-Type", b"Origin: http://%s\r\nX")
        connection.sendall(head % (b"localhost", b"localhost", b""))
        assert read_all(connection) == b""
    assert not caplog.records


def test_client_that_never_reads_loses_its_connection(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "READ_SECONDS", 0.1)
    ended = threading.Event()

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200})
            await send({"type": "http.response.body", "body": b"x" * 2**26, "more_body": True})
            await send({"type": "http.response.body", "body": b"x", "more_body": True})  # waits for the client
            ended.set()

    port = start(answer).port
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert ended.wait(60)


def test_idle_connections_make_room_for_new_clients(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that have waited longest for a request make room."""
    monkeypatch.setattr(listening, "BACKLOG", 8)
    port = start(build_api([])).port
    with ExitStack() as stack:
        idle = [stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60)) for _ in range(20)]
        asking = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
        asking.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert asking.recv(65536).split()[1] == b"404"
        assert [read_all(connection) for connection in idle[:5]] == [b""] * 5


def test_connections_leave_file_descriptors_for_other_work() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with Listener("127.0.0.1", 0) as listener:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (listener._socket.fileno() + 80, hard))
            backlog = listener.server(build_api([])).config.backlog
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert backlog == 20, "20 are accepted at once and 40 are connected, so that 20 descriptors are left"
