"""The server as it runs: where it listens, what its address is, and who may come in."""

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
    told: Callable[[str], None],
) -> None:
    """Serve until it is interrupted. `told` gets the address, once somebody may open it; port 0 is any free one.

    Raises `BadOption` where there is nothing to listen on, or no token although others could come in."""
    if token is None and not is_loopback(host):
        raise BadOption(f"--host {host}: other machines could come in, so there must be a token.")
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
        told(f"http://{shown}:{port}/" + ("" if token is None else f"?token={token}"))
        uvicorn.Server(config).run(sockets=[listening])
