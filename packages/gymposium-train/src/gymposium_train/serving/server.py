"""The server of a service, in a thread of its own."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gymposium.serving.listening import TOKEN, Listener
from gymposium_train.progress import say
from gymposium_train.serving.app import make_app
from gymposium_train.serving.pages import sessions_address, with_pages
from gymposium_train.serving.service import Service
from gymposium_train.serving.settings import SessionSettings


@contextmanager
def serve(service: Service, settings: SessionSettings, directory: Path) -> Iterator[str]:
    """Serve a service, and the pages of its run's directory, during the block, and yield its address. Raises
    `BadOption` if the server cannot listen there, or if other machines could reach it without a token."""
    token = os.environ.get(TOKEN) or None
    with Listener(settings.host, settings.port, names=settings.names, token=token, variable=TOKEN) as listener:
        api = make_app(service, listener.address, names=listener.names, token=token)
        server = listener.server(with_pages(api, directory, names=listener.names, token=token))
        thread = threading.Thread(target=listener.run, args=[server], name="server", daemon=True)
        thread.start()
        say(f"Serving at {listener.address}")
        say(f"Sessions are shown at {sessions_address(listener.address, directory, token)}")
        try:
            yield listener.address
        finally:
            server.should_exit = True
            thread.join()
