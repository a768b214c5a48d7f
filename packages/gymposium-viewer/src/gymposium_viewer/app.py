"""The viewer as an ASGI application behind a guard, and as exported files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from os.path import realpath
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from gymposium.errors import BadOption, GymposiumError
from gymposium_viewer.exploits.pages import ExploitsPart
from gymposium_viewer.guard import RequestGuard
from gymposium_viewer.pages import STATIC, copy_static, write_page
from gymposium_viewer.part import Part, Viewer
from gymposium_viewer.playing.pages import PlayPart
from gymposium_viewer.replays.pages import ReplaysPart
from gymposium_viewer.training.pages import TrainingPart

PARTS: Sequence[Callable[[Viewer], Part]] = (ReplaysPart, TrainingPart, ExploitsPart, PlayPart)
"""The classes of the viewer's parts, in tab order."""


def make_viewer(directory: Path, *, live: bool = True, parts: Sequence[Callable[[Viewer], Part]] = PARTS) -> Viewer:
    """Return a viewer of a folder. `parts` are the classes of its parts, by default all."""
    viewer = Viewer(directory, live)
    viewer.parts += [part(viewer) for part in parts]
    return viewer


def make_app(viewer: Viewer, *, names: Iterable[str] = (), token: str | None = None) -> ASGIApp:
    """Return the ASGI application that serves a viewer.

    `names` and `token` are as in `RequestGuard`."""

    def show_home(request: Request) -> Response:
        return HTMLResponse(render_home(viewer))

    def render_error(request: Request, error: Exception) -> Response:
        status, what = (error.status_code, error.detail) if isinstance(error, HTTPException) else (400, str(error))
        path = request.url.path.lstrip("/")
        return HTMLResponse(viewer.page("error.html", path, status=status, what=what), status)

    routes = [
        Route("/", RedirectResponse("index.html")),
        Route("/index.html", show_home),
        Mount("/static", StaticFiles(directory=STATIC)),
        *(route for part in viewer.parts for route in part.routes()),
    ]
    app = Starlette(
        routes=routes,
        middleware=[Middleware(GZipMiddleware)],  # event streams are not compressed
        exception_handlers={HTTPException: render_error, GymposiumError: render_error},
    )
    return RequestGuard(app, names=names, token=token)


def render_home(viewer: Viewer) -> str:
    """Render the first page, with a card for each part that has something to show."""
    cards = [card for part in viewer.parts for card in part.cards()]
    return viewer.page("home.html", "index.html", directory=realpath(viewer.directory), cards=cards)


def export_pages(directory: Path, out: Path) -> None:
    """Write every page for `directory` below `out`, for opening from disk or copying to a web server.

    Raises `BadOption` unless `out` is empty or does not exist."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BadOption(f"--export {out}: give an empty or new folder.")
    viewer = make_viewer(directory, live=False)
    if all(card.is_interactive for part in viewer.parts for card in part.cards()):
        raise BadOption(f"--export: {directory} has no matches, training runs or reports. Give another folder.")
    out.mkdir(parents=True, exist_ok=True)
    copy_static(out)
    for part in viewer.parts:
        part.export(out)
    write_page(out, "index.html", render_home(viewer))
