"""A server's socket, with the names and address that clients use."""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from gymposium.errors import BadOption, describe_cause
from gymposium.http.bodies import MOST_BYTES
from gymposium.http.requests import is_loopback

if sys.platform != "win32":
    import resource

TOKEN = "GYMPOSIUM_SERVE_TOKEN"
"""Environment variable with the token for clients of `gymposium serve` and `serve-env`."""
KEEP_ALIVE = 300
"""Number of seconds that an idle connection stays open.

It is long because agents think between requests, and a request on a closing connection fails."""
HEADER_SECONDS = 20.0
"""Number of seconds for a request's headers to arrive, counted from its first byte or the start of the connection."""
BODY_SECONDS = 40.0
"""Number of seconds for a request's body to arrive, for applications without their own limit."""
REST_SECONDS = 5.0
"""Number of seconds for the rest of a body to arrive after an early response, such as a rejection."""
READ_SECONDS = 60.0
"""Number of seconds for a client to read from a connection whose send buffer is full."""
BACKLOG = 1024
"""Maximum number of connections waiting to be accepted. Twice as many may be open."""
_LEAST = 4
"""The smallest backlog."""
_WILDCARDS = ("0.0.0.0", "::")


def check_address(host: str, token: str | None, variable: str | None = None) -> None:
    """Raise `BadOption` if other machines could reach a server at `host` without a token.

    `variable` is the environment variable for the token."""
    if not token and not is_loopback(host):
        how = "" if variable is None else f" Set the environment variable {variable} to a secret of your choice."
        raise BadOption(f"--host {host} needs a token, because other machines could reach this address.{how}")


def _read_max_open_files() -> int:
    """Return the maximum number of open files for this process."""
    if sys.platform == "win32":
        return 8 * BACKLOG
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 8 * BACKLOG if most == resource.RLIM_INFINITY else most


class TimedProtocol(H11Protocol):
    """uvicorn's HTTP protocol, with time limits on a client's sending and reading, and a connection limit.

    The maximum number of connections is twice uvicorn's `backlog`. A further connection closes the one that has waited
    longest for a request."""

    _deadline: asyncio.TimerHandle | None = None
    _limit = 0.0
    """Length of the current time limit, in seconds."""
    _unread: asyncio.TimerHandle | None = None
    _since = 0.0
    """Time when the connection began to wait for its next request."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        self._since = self.loop.time()
        self._watch()
        if len(self.connections) > 2 * self.config.backlog:
            self._close_idlest()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_watching()
        self.resume_writing()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._since = self.loop.time()
        if self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]:
            self._stop_watching()  # an idle connection has its own limit, KEEP_ALIVE
        else:
            self._watch()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_later(READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _watch(self) -> None:
        """Set the deadline for what the client must send or read next. Websockets have no deadline."""
        if self.transport.get_protocol() is not self:
            self._stop_watching()
            return
        if self.conn.their_state is h11.IDLE:
            limit = HEADER_SECONDS
        elif self.conn.their_state is h11.SEND_BODY:
            limit = REST_SECONDS if self._is_answered() else BODY_SECONDS
        else:
            self._stop_watching()
            return
        if self._deadline is None or limit != self._limit:
            self._stop_watching()
            self._limit = limit
            self._deadline = self.loop.call_later(limit, self._time_out)

    def _stop_watching(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _time_out(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()

    def _is_answered(self) -> bool:
        """Return whether every request with complete headers has been answered."""
        return self.cycle is None or self.cycle.response_complete  # type: ignore[redundant-expr]  # as in uvicorn

    def _is_waiting(self) -> bool:
        """Return whether the connection waits for a complete request."""
        return self._is_answered() or self.conn.their_state is h11.SEND_BODY or self.transport.is_closing()

    def _close_idlest(self) -> None:
        """Close the connection that has waited longest for a request, or this one if all others have a request."""
        others = (other for other in self.connections if isinstance(other, TimedProtocol) and other._is_waiting())
        longest = min(others, key=lambda other: other._since, default=self)
        self.connections.discard(longest)
        longest.transport.abort()


class Listener:
    """A listening socket for a server. As a context manager it closes the socket at the end."""

    def __init__(
        self, host: str, port: int, *, names: Sequence[str] = (), token: str | None = None, variable: str | None = None
    ) -> None:
        """Port 0 takes any free port.

        `names` are further names that clients use for the server. `variable` is the token's environment variable, named
        in the error if the token is missing.

        Raises `BadOption` if the server cannot listen there, or if other machines could reach it without a token."""
        check_address(host, token, variable)
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            self._socket = socket.create_server((host, port), family=family, backlog=BACKLOG)
        except (OSError, OverflowError) as error:
            raise BadOption(
                f"Cannot listen on --host {host} --port {port} ({describe_cause(error)}). Try --port 0."
            ) from error
        own = socket.gethostname() if host in _WILDCARDS else host
        self.names = (own, host, *names)
        """Names that the server's guard should allow."""
        shown = names[0] if names else own
        self.port: int = self._socket.getsockname()[1]
        self.address = f"http://{f'[{shown}]' if ':' in shown else shown}:{self.port}"
        """Address for clients, without a trailing slash."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._socket.close()

    def server(self, app: ASGIApp) -> uvicorn.Server:
        """Return a server for an application, not yet running.

        It limits connections so that file descriptors remain for other work."""
        free = _read_max_open_files() - self._socket.fileno()
        return uvicorn.Server(
            uvicorn.Config(
                app,
                http=TimedProtocol,
                log_level="warning",
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=1,
                timeout_keep_alive=KEEP_ALIVE,
                backlog=max(_LEAST, min(BACKLOG, free // 4)),  # this many are accepted before one is rejected
                ws_max_size=MOST_BYTES,
                ws_per_message_deflate=False,  # a few bytes can expand to megabytes
                ws_ping_interval=None,  # pings draw from the global random numbers; silent sessions end by themselves
            )
        )

    def serve(self, app: ASGIApp) -> None:
        """Serve an application until interrupted."""
        self.run(self.server(app))

    def run(self, server: uvicorn.Server) -> None:
        """Run a server on this socket until it is told to exit."""
        logging.getLogger("uvicorn.error").addFilter(_is_worth_logging)
        server.run(sockets=[self._socket])


def _is_worth_logging(logged: logging.LogRecord) -> bool:
    """Return False for uvicorn's log messages about requests that it cancels at shutdown, because these are not
    errors."""
    error = logged.exc_info[1] if logged.exc_info else None
    return not (isinstance(error, asyncio.CancelledError) or str(logged.msg).startswith("Cancel %s running task"))
