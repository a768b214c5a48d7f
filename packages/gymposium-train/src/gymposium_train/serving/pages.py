"""The web pages of a run, on the same port as its service."""

from __future__ import annotations

from collections.abc import Iterable
from os.path import realpath
from pathlib import Path
from urllib.parse import quote, urlencode

from starlette.types import ASGIApp, Receive, Scope, Send

from gymposium_viewer.app import make_app, make_viewer
from gymposium_viewer.replays.pages import ReplaysPart
from gymposium_viewer.training.pages import TrainingPart

_SERVICE = ("v1", "s", "health")
"""The first parts of the service's paths. All other paths are pages."""
_PARTS = (ReplaysPart, TrainingPart)
"""The parts of the viewer to show. The training process does not host games."""


def add_pages(service: ASGIApp, directory: Path, *, names: Iterable[str], token: str) -> ASGIApp:
    """Return the service's application, with a viewer of the run's directory at all other paths that are read. The two
    have separate guards. `names` and `token` are those of the viewer."""
    pages = make_app(make_viewer(directory, parts=_PARTS), names=names, token=token)

    async def route_request(scope: Scope, receive: Receive, send: Send) -> None:
        reads = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
        is_page = reads and scope["path"].split("/")[1] not in _SERVICE
        await (pages if is_page else service)(scope, receive, send)

    return route_request


def make_sessions_address(address: str, directory: Path, token: str) -> str:
    """Return the address of the page with a run's sessions, including the token that opens it."""
    return f"{address}/runs/{quote(Path(realpath(directory)).name)}/sessions.html?{urlencode({'token': token})}"
