"""The server of a service, in a thread of its own."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from gymposium.serving.listening import TOKEN, Listener
from gymposium_train.progress import say
from gymposium_train.serving.app import make_app
from gymposium_train.serving.service import Service
from gymposium_train.serving.settings import SessionSettings


@contextmanager
def serve(service: Service, settings: SessionSettings) -> Iterator[str]:
    """Serve a service during the block, and yield its address. Raises `BadOption` if the server cannot listen there, or
    if other machines could reach it without a token."""
    token = os.environ.get(TOKEN) or None
    with Listener(settings.host, settings.port, names=settings.names, token=token, variable=TOKEN) as listener:
        server = listener.server(make_app(service, listener.address, names=listener.names, token=token))
        thread = threading.Thread(target=listener.run, args=[server], name="server", daemon=True)
        thread.start()
        say(f"Serving at {listener.address}")
        try:
            yield listener.address
        finally:
            server.should_exit = True
            thread.join()
