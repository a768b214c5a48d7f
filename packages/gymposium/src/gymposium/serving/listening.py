"""The socket of a server, and the names and the address by which clients reach it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from gymposium.errors import BadOption, reason
from gymposium.serving.bodies import MOST_BYTES
from gymposium.serving.requests import is_loopback

TOKEN = "GYMPOSIUM_SERVE_TOKEN"
"""The environment variable with the token that clients of `gymposium serve` and `serve-env` send."""
KEEP_ALIVE = 300
"""Number of seconds for which a connection stays open without a request. Agents think for a while between two requests,
and a request that meets the end of its connection fails."""
HEADER_SECONDS = 20.0
"""Number of seconds for the headers of a request to arrive, from its first byte or the beginning of the connection."""
BACKLOG = 1024
"""Number of clients that may wait for their connection to be accepted."""
_WILDCARDS = ("0.0.0.0", "::")


def check_address(host: str, token: str | None, variable: str | None = None) -> None:
    """Raise `BadOption` if other machines could reach a server at `host` without a token. `variable` is the environment
    variable in which the user gives it."""
    if not token and not is_loopback(host):
        how = "" if variable is None else f" Set the environment variable {variable} to a secret of your choice."
        raise BadOption(f"--host {host}: other machines could reach this address, so it needs a token.{how}")


class TimedProtocol(H11Protocol):
    """HTTP as uvicorn speaks it, with a time limit for the arrival of a request's headers."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        self._watch_headers()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_watching()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.conn.trailing_data[0]:
            self._stop_watching()  # an idle connection has its own limit, KEEP_ALIVE
        else:
            self._watch_headers()

    def _watch_headers(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._stop_watching()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(HEADER_SECONDS, self._give_up)

    def _stop_watching(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()


class Listener:
    """A socket that listens for a server. As a context manager it closes the socket at the end."""

    def __init__(
        self, host: str, port: int, *, names: Sequence[str] = (), token: str | None = None, variable: str | None = None
    ) -> None:
        """Port 0 takes any free port. `names` are further names by which clients reach the server. `variable` is the
        environment variable in which the user gives the token, for the error without one.

        Raises `BadOption` if the server cannot listen there, or if other machines could reach it without a token."""
        check_address(host, token, variable)
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            self._socket = socket.create_server((host, port), family=family, backlog=BACKLOG)
        except (OSError, OverflowError) as error:
            raise BadOption(
                f"--host {host} --port {port}: cannot listen there ({reason(error)}). Try --port 0."
            ) from error
        own = socket.gethostname() if host in _WILDCARDS else host
        self.names = (own, host, *names)
        """The names that the guard of the server should allow."""
        shown = names[0] if names else own
        self.port: int = self._socket.getsockname()[1]
        self.address = f"http://{f'[{shown}]' if ':' in shown else shown}:{self.port}"
        """The address for clients, without a slash at its end."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._socket.close()

    def server(self, app: ASGIApp) -> uvicorn.Server:
        """The server of an application, which does not run yet."""
        return uvicorn.Server(
            uvicorn.Config(
                app,
                http=TimedProtocol,
                log_level="warning",
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=1,
                timeout_keep_alive=KEEP_ALIVE,
                ws_max_size=MOST_BYTES,
                ws_ping_interval=None,  # pings draw from the global random numbers; silent sessions end by themselves
            )
        )

    def serve(self, app: ASGIApp) -> None:
        """Serves an application until interrupted."""
        self.run(self.server(app))

    def run(self, server: uvicorn.Server) -> None:
        """Runs a server on this socket until it is told to exit."""
        server.run(sockets=[self._socket])
