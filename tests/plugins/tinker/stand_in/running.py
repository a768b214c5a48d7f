"""A server of the stand-in: a thread, a port, faults on demand, and restarts."""

from __future__ import annotations

import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.responses import JSONResponse

from .app import KEY, app
from .service import StandIn

Message = MutableMapping[str, Any]


class Faults:
    """What goes wrong: the faults of each path are taken in order, one for a request; then nothing goes wrong.

    A number is a status that is answered in place of doing anything; `lost` does what is asked and loses the answer."""

    def __init__(self, plan: dict[str, list[int | str]] | None = None) -> None:
        self.plan = plan or {}
        self.met: list[tuple[str, int | str]] = []

    def next_one(self, path: str) -> int | str | None:
        kind = path.removeprefix("/api/v1/")
        if not self.plan.get(kind):
            return None
        fault = self.plan[kind].pop(0)
        self.met.append((kind, fault))
        return fault


class Server:
    """Serves a stand-in until it is stopped. It can be started again at the same address, with the same state."""

    def __init__(self, service: StandIn, faults: Faults) -> None:
        self._app, self._faults = app(service), faults
        self._port = _free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self.unauthorized = 0
        self.on_request: Callable[[str], object] = lambda path: None
        """Called with the path of each request, before it is answered."""

    def start(self) -> None:
        self._uvicorn = uvicorn.Server(
            uvicorn.Config(
                self._guarded, host="127.0.0.1", port=self._port, log_level="error", lifespan="off", interface="asgi3"
            )
        )
        self._thread = threading.Thread(target=self._uvicorn.run, daemon=True)
        self._thread.start()
        while not self._uvicorn.started:
            assert self._thread.is_alive(), "the server does not start"
            self._thread.join(0.01)

    def stop(self) -> None:
        """Break off all connections."""
        self._uvicorn.force_exit = self._uvicorn.should_exit = True
        self._thread.join()

    async def _guarded(
        self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
    ) -> None:
        assert scope["type"] == "http"
        self.on_request(scope["path"])
        if scope["path"] == "/api/v1/healthz":  # it is asked without a key
            await JSONResponse({"status": "ok"})(scope, receive, send)  # type: ignore[arg-type]
            return
        if dict(scope["headers"]).get(b"x-api-key") != KEY.encode():
            self.unauthorized += 1
            await JSONResponse({"detail": "unknown key"}, 401)(scope, receive, send)  # type: ignore[arg-type]
            return
        fault = self._faults.next_one(scope["path"])
        if isinstance(fault, int):
            await JSONResponse({"detail": "try again"}, fault)(scope, receive, send)  # type: ignore[arg-type]
        elif fault == "lost":

            async def nowhere(message: Message) -> None:
                pass

            await self._app(scope, receive, nowhere)  # type: ignore[arg-type]
            await JSONResponse({"detail": "the answer is lost"}, 503)(scope, receive, send)  # type: ignore[arg-type]
        else:
            await self._app(scope, receive, send)  # type: ignore[arg-type]


@contextmanager
def running(service: StandIn, faults: Faults | None = None) -> Iterator[Server]:
    server = Server(service, faults or Faults())
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
