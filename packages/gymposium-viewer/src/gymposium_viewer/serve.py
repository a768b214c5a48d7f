"""The server of `gymposium view`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from gymposium.http.listening import Listener
from gymposium_viewer.app import make_app, make_viewer


def serve(
    directory: Path,
    *,
    host: str,
    port: int,
    names: Sequence[str],
    token: str | None,
    announce: Callable[[str], None],
) -> None:
    """Serve a folder until interrupted.

    `announce` is called with the address once the server accepts connections. Port 0 takes any free port.

    Raises `BadOption` if the server cannot listen there, or if other machines could reach it without a token."""
    with Listener(host, port, names=names, token=token) as listener:
        app = make_app(make_viewer(directory), names=listener.names, token=token)
        announce(f"{listener.address}/" + ("" if token is None else f"?token={token}"))
        listener.serve(app)
