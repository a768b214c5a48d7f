"""The server of `gymposium view`: its socket, its address and its token."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from pathlib import Path

import uvicorn

from gymposium.errors import BadOption
from gymposium.viewer.app import make_app, view
from gymposium.viewer.guard import is_loopback

_WILDCARDS = ("0.0.0.0", "::")


def serve(
    directory: Path,
    *,
    host: str,
    port: int,
    names: Sequence[str],
    token: str | None,
    announce: Callable[[str], None],
) -> None:
    """Serves a directory until interrupted. `announce` is called with the address as soon as it can be opened; port 0
    takes any free port.

    Raises `BadOption` if the server cannot listen there, or if other machines could reach it without a token."""
    if token is None and not is_loopback(host):
        raise BadOption(f"--host {host}: other machines could reach this address, so it needs a token.")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        raise BadOption(f"--host {host} --port {port}: cannot listen there ({error}). Try --port 0.") from error
    with listening:
        port = listening.getsockname()[1]
        own = socket.gethostname() if host in _WILDCARDS else host
        app = make_app(view(directory), names=[own, host, *names], token=token)
        config = uvicorn.Config(
            app, log_level="warning", server_header=False, proxy_headers=False, timeout_graceful_shutdown=1
        )
        shown = names[0] if names else own
        shown = f"[{shown}]" if ":" in shown else shown
        announce(f"http://{shown}:{port}/" + ("" if token is None else f"?token={token}"))
        uvicorn.Server(config).run(sockets=[listening])
