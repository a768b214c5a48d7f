"""Server answers: compression, and status 400 for invalid numbers."""

from __future__ import annotations

import gzip
import http.client
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

LONG = "9" * 5000


def ask(address: str, path: str, **headers: str) -> tuple[int, http.client.HTTPMessage, bytes]:
    """Status, headers and body of one answer, as received."""
    parts = urlsplit(address)
    with closing(http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)) as connection:
        connection.request("GET", f"/{path}", headers={n.replace("_", "-"): value for n, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()


def test_page_of_a_long_match_is_compressed(serve: Any, texts: Path) -> None:
    address, path = serve(texts), "matches/backgammon.jsonl/1.html"
    _, headers, body = ask(address, path, Accept_Encoding="gzip")
    assert headers["Content-Encoding"] == "gzip"
    assert "Content-Security-Policy" in headers
    _, plain_headers, plain = ask(address, path)
    assert "Content-Encoding" not in plain_headers
    assert gzip.decompress(body) == plain
    assert len(plain) > 10 * len(body)
    for part in ("static/base.css", "matches/backgammon.jsonl/1.json"):
        assert ask(address, part, Accept_Encoding="gzip")[1]["Content-Encoding"] == "gzip"


def test_events_are_sent_immediately(serve: Any, training_run: Callable[..., Any], tmp_path: Path) -> None:
    run = training_run(steps=2)
    run.log(1)
    parts = urlsplit(serve(tmp_path / "training"))
    with closing(http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)) as connection:
        connection.request("GET", "/runs/first/events?from=0", headers={"Accept-Encoding": "gzip"})
        answer = connection.getresponse()
        assert answer.headers["Content-Encoding"] is None
        assert answer.readline() == b"event: metrics\n"  # the run and the answer both go on
        run.finish()
        assert b"event: finished" in answer.read()


@pytest.mark.parametrize(
    "path",
    [
        f"matches.html?page={LONG}",
        f"matches/connect_four.jsonl/{LONG}.html",
        f"matches/connect_four.jsonl/{LONG}.json",
        f"compare.html?match=connect_four.jsonl:{LONG}&match=connect_four.jsonl:1",
        f"runs/first/rollouts/{LONG}-1.html",
        f"runs/first/rollouts/1-{LONG}.html",
        f"compare.html?match={quote('connect_four.jsonl:٣')}&match=connect_four.jsonl:1",
    ],
)
def test_invalid_number_is_a_bad_request(serve: Any, runs: Path, path: str) -> None:
    status, _, body = ask(serve(runs), path)
    assert (status, b"at most 18 digits" in body) == (400, True)


def test_long_number_is_not_found(serve: Any, runs: Path) -> None:
    assert ask(serve(runs), f"matches/connect_four.jsonl/{'9' * 18}.html")[0] == 404
