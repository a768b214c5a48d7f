"""The server guard: which requests and websockets it accepts, and its errors."""

from __future__ import annotations

import http.client
import json
import socket
from contextlib import closing
from typing import Any, NamedTuple

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from gymposium.http import listening
from gymposium.http.bodies import MOST_BYTES, read_json_object
from gymposium.http.guard import ApiGuard
from gymposium.http.requests import RequestRefusal
from gymposium.util.strict_json import DEEPEST, parse_bounded_json

JSON = {"Content-Type": "application/json"}


class Answer(NamedTuple):
    status: int
    data: Any

    @property
    def code(self) -> str:
        assert set(self.data) == {"error"}
        assert set(self.data["error"]) == {"message", "type", "param", "code"}
        return self.data["error"]["code"]


async def echo(request: Request) -> Response:
    return JSONResponse({"body": read_json_object(request), "raw": len(await request.body())})


async def hello(request: Request) -> Response:
    return JSONResponse({"hello": request.method})


async def talk(websocket: WebSocket) -> None:
    await websocket.accept()
    await websocket.send_text(f"you said {await websocket.receive_text()}")
    await websocket.close()


def app(**guard: Any) -> ApiGuard:
    routes = [
        Route("/echo", echo, methods=["POST"]),
        Route("/", hello, methods=["GET", "POST"]),
        Route("/open", hello),
        WebSocketRoute("/ws", talk),
    ]
    refused = {RequestRefusal: lambda request, error: error.response()}
    return ApiGuard(Starlette(routes=routes, exception_handlers=refused), **guard)


def ask(port: int, method: str = "GET", path: str = "/", body: bytes | None = None, **headers: str) -> Answer:
    """The answer to one request. Underscores in names of headers stand for hyphens."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.putrequest(method, path, skip_host="Host" in headers)
        length = {} if body is None else {"Content-Length": str(len(body))}
        for name, value in {**length, **headers}.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders(body)
        answer = connection.getresponse()
        return Answer(answer.status, json.loads(answer.read()))


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LOCALHOST:{port}", 200),
        ("127.0.0.1:{port}", 200),
        ("[::1]:{port}", 200),
        ("games.example:{port}", 200),
        ("evil.example:{port}", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost@evil.example", 421),
        ("", 421),
    ],
)
def test_only_own_host_names_are_accepted(start, host: str, status: int) -> None:
    port = start(app(names=["games.example"])).port
    answer = ask(port, Host=host.format(port=port))
    assert answer.status == status
    assert status == 200 or answer.code == "unknown_host"


def test_two_host_headers_are_refused(start) -> None:
    port = start(app()).port
    with socket.create_connection(("127.0.0.1", port), timeout=60) as raw:
        raw.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
        assert raw.recv(65536).split()[1] in (b"421", b"400")  # h11 refuses it before the guard does


def test_foreign_origins_are_refused(start) -> None:
    port = start(app()).port
    own = f"http://127.0.0.1:{port}"
    assert ask(port, Origin=own).status == 200
    for origin in ("http://evil.example", "null", own.replace("127.0.0.1", "localhost"), own.replace("http", "https")):
        assert ask(port, Origin=origin)[:1] == (403,)
    with pytest.raises(InvalidStatus, match="403"), connect(f"ws://127.0.0.1:{port}/ws", origin="http://evil.example"):
        pass
    with connect(f"ws://127.0.0.1:{port}/ws", origin=own) as there:
        there.send("hi")
        assert there.recv() == "you said hi"


def test_token_is_required(start) -> None:
    port = start(app(token="s3cret", needs_token=lambda scope: scope["path"] != "/open")).port
    assert ask(port).code == "no_token"
    assert ask(port, Authorization="Bearer wrong").code == "wrong_token"
    assert ask(port, Authorization="Basic s3cret").code == "no_token"
    assert ask(port, Authorization="Bearer s3crét").status == 401
    assert ask(port, path="/?token=s3cret").status == 401  # addresses stand in logs
    assert ask(port, Authorization="bearer s3cret").status == 200
    assert ask(port, **{"X-Api-Key": "s3cret"}).status == 200  # as Anthropic's clients send it
    assert ask(port, **{"X-Api-Key": "wrong"}).code == "wrong_token"
    assert ask(port, path="/open").status == 200


def test_websocket_token_may_be_in_header_or_url(start) -> None:
    url = f"ws://127.0.0.1:{start(app(token='s3cret')).port}/ws"
    for wrong in (url, f"{url}?token=wrong"):
        with pytest.raises(InvalidStatus) as refused, connect(wrong):
            pass
        assert refused.value.response.status_code == 401
        assert json.loads(refused.value.response.body)["error"]["type"] == "authentication_error"
    for address, headers in ((f"{url}?token=s3cret", {}), (url, {"Authorization": "Bearer s3cret"})):
        with connect(address, additional_headers=headers) as there:
            there.send("hi")
            assert there.recv() == "you said hi"


def test_body_must_be_json(start) -> None:
    port = start(app()).port
    assert ask(port, "POST", "/echo", b'{"a": [1]}', **JSON) == (200, {"body": {"a": [1]}, "raw": 10})
    assert ask(port, "POST", "/echo", b"{}", Content_Type="application/json; charset=utf-8").status == 200
    assert ask(port, "POST", "/echo", b"a=1", Content_Type="application/x-www-form-urlencoded").code == "not_json"
    assert ask(port, "POST", "/echo", b"{}").code == "not_json"
    assert ask(port, "POST", "/", b"").status == 200  # no body
    for body in (b"{", b'{"a": 1, "a": 2}', b"NaN", b"\xff", b'{"a": 1} x'):
        answer = ask(port, "POST", "/echo", body, **JSON)
        assert (answer.status, answer.code) == (400, "invalid_json")
    assert ask(port, "POST", "/echo", b"[]", **JSON).code == "not_an_object"
    assert ask(port, "POST", "/echo", b"").code == "not_an_object"


@pytest.mark.parametrize("depth", [DEEPEST + 1, 2_000_000])
def test_deep_json_is_refused(start, depth: int) -> None:
    port = start(app()).port
    answer = ask(port, "POST", "/echo", b'{"a":' + b"[" * depth + b"]" * depth + b"}", **JSON)
    assert answer.status == 400
    assert "nested too deeply" in answer.data["error"]["message"]
    assert ask(port).status == 200


def test_depth_limit_is_exact() -> None:
    assert parse_bounded_json("[" * DEEPEST + "1" + "]" * DEEPEST)
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_bounded_json("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1))
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_bounded_json('{"a":' * (DEEPEST + 1) + "1" + "}" * (DEEPEST + 1))


def test_large_body_is_refused_by_its_length_header(start) -> None:
    port = start(app()).port
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.putrequest("POST", "/echo")
        connection.putheader("Content-Length", str(MOST_BYTES + 1))
        connection.putheader("Content-Type", "application/json")
        connection.endheaders()  # the body is not even sent
        assert connection.getresponse().status == 413


def test_large_body_without_length_header_is_refused(start) -> None:
    port = start(app(most=1000)).port
    with socket.create_connection(("127.0.0.1", port), timeout=60) as raw:
        raw.sendall(
            b"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n" + b"1f5\r\n" + b" " * 501 + b"\r\n1f4\r\n" + b" " * 500 + b"\r\n"
        )
        assert raw.recv(65536).split()[1] == b"413"
    assert ask(port, "POST", "/echo", b'"' + b" " * 998 + b'"', **JSON).code == "not_an_object"


def test_five_mebibyte_body_is_refused(start) -> None:
    port = start(app()).port
    with socket.create_connection(("127.0.0.1", port), timeout=60) as raw:
        raw.sendall(
            b"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
        try:
            for _ in range(80):
                raw.sendall(chunk)
        except OSError:
            pass  # refused and closed before all of it was sent
        else:
            assert raw.recv(65536).split()[1] == b"413"
    assert ask(port).status == 200


def test_slow_body_is_refused(start) -> None:
    port = start(app(seconds=0.05)).port
    with socket.create_connection(("127.0.0.1", port), timeout=60) as raw:
        raw.sendall(
            b"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
        )
        assert raw.recv(65536).split()[1] == b"408"
    assert ask(port).status == 200


def test_client_disconnecting_mid_body_does_no_harm(start) -> None:
    port = start(app()).port
    with socket.create_connection(("127.0.0.1", port), timeout=60) as raw:
        raw.sendall(
            b"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
        )
    assert ask(port).status == 200


@pytest.mark.parametrize(
    "begin", [b"", b"POST /echo HTTP/1.1\r\nHost: 127", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET / HT"]
)
def test_missing_headers_end_the_connection(start, monkeypatch: pytest.MonkeyPatch, begin: bytes) -> None:
    """A client that opens many connections and sends nothing more keeps no other client out."""
    monkeypatch.setattr(listening, "HEADER_SECONDS", 0.2)
    port = start(app()).port
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(begin)
        while connection.recv(4096):
            pass
    assert ask(port).status == 200
