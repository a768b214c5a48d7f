"""Pages of a run beside its service: routing and access control."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import PlainTextResponse

from gymposium.runs.sessions import SessionsFile
from gymposium_train.serving.pages import add_pages, make_sessions_address


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The directory of a run that is served, of which no session has begun."""
    directory = tmp_path / "a run"
    directory.mkdir()
    (directory / "config.json").write_text(json.dumps({"games": [], "steps": 3}))
    (directory / "versions.json").write_text("{}")
    SessionsFile(directory / "sessions.sqlite").close()
    return directory


def ask(run: Path, path: str, query: str = "", **headers: str) -> tuple[int, str, dict[str, str]]:
    """Status, text and headers of the response to a request for a run whose token is `s3cret`."""
    app = add_pages(PlainTextResponse("the service"), run, names=["a.example"], token="s3cret")
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(3600)  # the client stays
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    given = {"host": "a.example", **headers}
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }
    asyncio.run(app(scope, receive, send))
    text = b"".join(message.get("body", b"") for message in sent[1:]).decode()
    return sent[0]["status"], text, {name.decode(): value.decode() for name, value in sent[0]["headers"]}


@pytest.mark.parametrize("path", ["/health", "/v1/status", "/v1", "/v1/nothing", "/s/secret/v1/models"])
def test_service_paths_use_their_own_access_control(run: Path, path: str) -> None:
    assert ask(run, path)[:2] == (200, "the service")


@pytest.mark.parametrize("path", ["/", "/index.html", "/static/base.css", "/runs.html", "/v1x", "/healthy"])
def test_other_paths_are_pages_that_require_the_token(run: Path, path: str) -> None:
    status, text, _ = ask(run, path)
    assert (status, text) == (401, "Open the address that the server printed: it carries a token.\n")
    assert ask(run, path, authorization="Bearer s3cret")[0] in (200, 307, 404)
    assert ask(run, path, host="evil.example", authorization="Bearer s3cret")[0] == 421


def test_printed_address_opens_the_sessions(run: Path) -> None:
    address = make_sessions_address("http://a.example:8750", run, "s3cret")
    assert address == "http://a.example:8750/runs/a%20run/sessions.html?token=s3cret"
    status, _, headers = ask(run, "/runs/a run/sessions.html", "token=s3cret")
    assert (status, headers["location"]) == (303, "/runs/a%20run/sessions.html")
    cookie = headers["set-cookie"].partition(";")[0]
    status, text, _ = ask(run, "/runs/a run/sessions.html", cookie=cookie)
    assert status == 200
    assert "No sessions yet" in text
    assert "/play.html" not in text, "nobody plays in the process that trains"
