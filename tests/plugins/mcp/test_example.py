"""The example: a server using the official library, over stdio and streamable HTTP."""

from __future__ import annotations

import runpy
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.responses import Response
from tests.plugins.mcp.making import playing, write_world

from gymposium import load_game
from gymposium.errors import WorldFailure
from gymposium.tasks import ToolGame
from gymposium.tasks.questions import QuestionFile
from gymposium.tasks.tools import Call
from gymposium_mcp.world import EXAMPLE
from gymposium_testing import QUICK, GameConformance

FILES = ("train.jsonl", "test.jsonl")
TOOLS = ["search", "read", "convert"]


class TestMcp(GameConformance):
    game = "mcp"
    effort = replace(QUICK, decisions=40, matches=5)  # each call asks a program


def test_example_question_is_solvable() -> None:
    solve(load_game("mcp"))  # type: ignore[arg-type]


def solve(game: ToolGame) -> None:
    """Answer the question about the mole."""
    seed = next(seed for seed in range(200) if "mole?" in game.new(seed).observe(0).text)
    match = game.new(seed)
    for call, text in (
        (Call("search", {"word": "mole"}), "mole\n"),
        (Call("read", {"title": "the mole"}), "There is no note 'the mole'."),
        (Call("read", {"title": "mole"}), "The mole is 450 yards long."),
        (Call("convert", {"value": 450, "unit": "yards", "to": "metres"}), "411.48\n"),
        (Call("convert", {"value": 450, "unit": "ells", "to": "metres"}), "Wrong arguments for convert: unit: 'ells'"),
        (Call("answer", {"text": "411.48"}), "That is right."),
    ):
        match.apply({0: call.json})
        assert text in match.observe(0).text
    assert match.returns() == (1.0,)


def require_token(app: Any) -> Any:
    """The application for those who know the token."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        known = scope["type"] != "http" or (b"authorization", b"Bearer secret") in scope["headers"]
        await (app if known else Response(status_code=401))(scope, receive, send)

    return answer


@contextmanager
def served(port: int = 0) -> Iterator[int]:
    """The example's server over HTTP in a thread, and its port. The socket takes connections from the beginning."""
    app = require_token(runpy.run_path(str(EXAMPLE.parent / "server.py"))["server"].streamable_http_app())
    listening = socket.create_server(("127.0.0.1", port))
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=0))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def test_http_server_may_disappear_and_return(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "secret")
    monkeypatch.setenv("GYMPOSIUM_ALLOW_ENV", "TOKEN")
    with ExitStack() as stack:
        with served() as port:
            file = write_world(
                tmp_path,
                server={"command": None, "url": f"http://127.0.0.1:{port}/mcp", "token": "TOKEN"},
                tools={"allow": TOOLS, "max_calls": 8},
                questions={"train": str(EXAMPLE.parent / "train.jsonl")},
            )
            game = stack.enter_context(playing(file))
            solve(game)
            under_way = game.new(0)
        with pytest.raises(WorldFailure):
            under_way.apply({0: Call("read", {"title": "mole"}).json})
        with served(port):
            solve(game)
            stack.close()


def test_example_splits_are_disjoint() -> None:
    train, test = ({one.question for one in QuestionFile(EXAMPLE.parent / name).questions} for name in FILES)
    assert train
    assert test
    assert not train & test
