"""Fixtures of server tests: a server for any application, and raw requests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
import uvicorn
from starlette.types import ASGIApp

from gymposium.http.listening import Listener

Start = Callable[[ASGIApp], Listener]


@pytest.fixture
def start() -> Iterator[Start]:
    """`start(app)` serves an application on a free port of loopback and returns its listener."""
    running: list[tuple[Listener, uvicorn.Server, threading.Thread]] = []

    def serve(app: ASGIApp) -> Listener:
        listener = Listener("127.0.0.1", 0)
        server = listener.server(app)
        thread = threading.Thread(target=listener.run, args=(server,))
        thread.start()
        running.append((listener, server, thread))
        return listener

    yield serve
    for listener, server, thread in running:
        server.should_exit = True
        thread.join()
        listener.__exit__(None, None, None)
