"""The guard: accepted requests, and the security policy of every answer."""

from __future__ import annotations

import http.client
from contextlib import closing
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx
import pytest

from gymposium.errors import BadOption
from gymposium.http.requests import is_loopback
from gymposium_viewer.serve import serve as serve_it


class Answer(NamedTuple):
    status: int
    headers: http.client.HTTPMessage


def ask(address: str, path: str = "/index.html", *, method: str = "GET", **headers: str) -> Answer:
    """Sends one request with a given Host header."""
    parts = urlsplit(address)
    with closing(http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)) as connection:
        connection.putrequest(method, path, skip_host="Host" in headers)
        for name, value in {**headers, "Connection": "close"}.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        answer.read()
        return Answer(answer.status, answer.headers)


def test_content_security_policy_is_on_every_answer(serve, tmp_path: Path) -> None:
    address = serve(tmp_path)
    for path, status in (("/index.html", 200), ("/static/base.css", 200), ("/nothing", 404)):
        answer = ask(address, path)
        assert answer.status == status
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "same-origin"
        assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LOCALHOST:{port}", 200),
        ("127.0.0.1:{port}", 200),
        ("[::1]:{port}", 200),
        ("evil.example:{port}", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost@evil.example", 421),
        ("", 421),
    ],
)
def test_only_own_host_names_are_accepted(serve, tmp_path: Path, host: str, status: int) -> None:
    """A foreign name that points at this machine (DNS rebinding) is refused."""
    address = serve(tmp_path)
    assert ask(address, Host=host.format(port=urlsplit(address).port)).status == status


def test_foreign_origins_are_refused(serve, tmp_path: Path) -> None:
    address = serve(tmp_path)
    own = address.rstrip("/")
    assert ask(address, Origin=own).status == 200
    for origin in ("http://evil.example", "null", own.replace("127.0.0.1", "localhost"), own.replace("http", "https")):
        assert ask(address, Origin=origin).status == 403
    assert ask(address, method="POST").status == 403
    assert ask(address, method="POST", Origin=own).status == 405  # accepted by the guard; the page takes no POST


def test_nothing_is_shown_without_the_token(serve, tmp_path: Path) -> None:
    address = serve(tmp_path, token="s3cret")
    for path in ("/index.html", "/static/base.css", "/nothing", "/index.html?token=wrong"):
        assert ask(address, path).status == 401
    assert ask(address, Authorization="Bearer wrong").status == 401
    assert ask(address, Authorization="Bearer s3cret").status == 200
    let_in = ask(address, "/matches.html?game=x&token=s3cret")
    assert (let_in.status, let_in.headers["Location"]) == (303, "/matches.html?game=x")
    cookie = let_in.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert ask(address, Cookie=cookie.split(";")[0]).status == 200
    assert ask(address, Cookie=cookie.split("=")[0] + "=wrong").status == 401
    assert ask(address, Cookie=cookie.split(";")[0], Host="evil.example").status == 421


@pytest.mark.parametrize("path", ["/index.html?token=s3cret", "/matches.html?token=s3cret&game=x", "/?token=s3cret"])
def test_redirects_keep_the_token_session(serve, tmp_path: Path, path: str) -> None:
    with httpx.Client(base_url=serve(tmp_path, token="s3cret"), follow_redirects=True) as client:
        answer = client.get(path)
    assert answer.status_code == 200
    assert "token" not in str(answer.url)


@pytest.mark.parametrize(
    "path", ["//evil.example/", "/\\evil.example", "///evil.example", "/%5cevil.example", "/%2fevil"]
)
def test_token_redirect_never_leaves_the_site(serve, tmp_path: Path, path: str) -> None:
    answer = ask(serve(tmp_path, token="s3cret"), f"{path}?token=s3cret")
    target = answer.headers["Location"]
    assert answer.status == 303
    assert (target[0], target[1] in "/\\") == ("/", False)


def test_other_machines_need_a_token(tmp_path: Path) -> None:
    with pytest.raises(BadOption, match="needs a token"):
        serve_it(tmp_path, host="0.0.0.0", port=0, names=[], token=None, announce=lambda address: None)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.org", ""])
def test_not_loopback(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/matches/../../../../etc/passwd/1.html",
        "/matches/%2e%2e/secret.jsonl/1.json",
        "/matches/%2Fetc%2Fpasswd/1.json",
    ],
)
def test_nothing_outside_is_served(serve, tmp_path: Path, path: str) -> None:
    (tmp_path / "secret.jsonl").write_text('{"id":"secret"}\n', encoding="utf-8")
    (tmp_path / "shown").mkdir()
    assert ask(serve(tmp_path / "shown"), path).status == 404
