"""The server of a service, in a separate thread."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from os.path import realpath
from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gymposium.http.app import build_api
from gymposium.http.client import RUN
from gymposium.http.listening import TOKEN, Listener
from gymposium.http.requests import RequestRefusal
from gymposium_agents.players.player import LanguageModelPlayer
from gymposium_train.config import TrainConfig
from gymposium_train.serving.app import Api, needs_token
from gymposium_train.serving.checkpoints import ServedCheckpoints
from gymposium_train.serving.completions import format_error
from gymposium_train.serving.model_app import ModelApi
from gymposium_train.serving.pages import add_pages, make_sessions_address
from gymposium_train.serving.service import Service
from gymposium_train.serving.settings import SessionSettings
from gymposium_train.util.progress import print_message


@contextmanager
def serve(
    service: Service, settings: SessionSettings, directory: Path, config: TrainConfig, token: str | None
) -> Iterator[str]:
    """Serve the service and the pages of the run in `directory` during the block, and yield the address. Raises
    `BadOption` if the server cannot listen on the address, or if other machines could reach it without a token."""
    with Listener(settings.host, settings.port, names=settings.names, token=token, variable=TOKEN) as listener:
        routes = Api(service, ServedCheckpoints(directory, config), listener.address).routes()
        app = _build_app(routes, listener, token)
        pages = token or secrets.token_urlsafe(16)  # every process on this machine can reach the address
        with_run = _add_run_header(add_pages(app, directory, names=listener.names, token=pages), name_run(directory))
        with _run_server(listener, with_run):
            print_message(f"Serving at {listener.address}")
            print_message(f"Sessions are shown at {make_sessions_address(listener.address, directory, pages)}")
            yield listener.address


def serve_model(player: LanguageModelPlayer, name: str, settings: SessionSettings, seed: int) -> None:
    """Serve a model without sessions and training, until interrupted. Raises the same errors as `serve`."""
    token = os.environ.get(TOKEN) or None
    with Listener(settings.host, settings.port, names=settings.names, token=token, variable=TOKEN) as listener:
        routes = ModelApi(player, name, seed, strict=settings.strict).routes()
        app = _build_app(routes, listener, token)
        print_message(f"Serving {name} at {listener.address}/v1")
        listener.serve(app)


def _build_app(routes: Sequence[BaseRoute], listener: Listener, token: str | None) -> ASGIApp:
    """Build the application of a server of completions. The arguments of calls may have any integers, and the Messages
    API has them as numbers."""
    return build_api(
        routes,
        names=listener.names,
        token=token,
        needs_token=needs_token,
        any_integer=True,
        format_error=format_error,
    )


def name_run(directory: Path) -> str:
    """Return the name of the run in a directory, for clients. It does not change when the run is resumed."""
    return sha256(realpath(directory).encode()).hexdigest()[:16]


def _add_run_header(app: ASGIApp, run: str) -> ASGIApp:
    """Return the application with a header that names the run in each response. Requests by clients of another run are
    rejected."""

    async def add_header(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_header(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[RUN] = run
            await send(message)

        given = Headers(scope=scope).get(RUN, run) if scope["type"] == "http" else run
        if given != run:
            why = "Another run is now at this address. Create a new client to use it."
            await RequestRefusal(409, "another_run", why).response()(scope, receive, send_with_header)
            return
        await app(scope, receive, send_with_header)

    return add_header


@contextmanager
def _run_server(listener: Listener, app: ASGIApp) -> Iterator[None]:
    server = listener.server(app)
    thread = threading.Thread(target=listener.run, args=[server], name="server", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()
