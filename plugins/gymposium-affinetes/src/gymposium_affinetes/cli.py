"""The command `gymposium serve-affinetes`."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from gymposium.cli.listening import HostOption, NamesOption, PortOption
from gymposium.cli.resume import OutOption
from gymposium.cli.text import print_note
from gymposium.records import RecordWriter
from gymposium.runs.folder import RunFolder
from gymposium.util.extras import require_extra

PORT = 8720


def command(
    allow_base_url: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Allow this chat service; repeatable"),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Allow this environment variable as a key; repeatable"),
    ] = None,
    opponent: Annotated[
        list[str] | None,
        typer.Option(metavar="PLAYER", help="Allow this opponent; repeatable; default: mcts and random"),
    ] = None,
    port: PortOption = PORT,
    host: HostOption = "127.0.0.1",
    name: NamesOption = None,
    out_dir: OutOption = None,
) -> None:
    """Answer affinetes' calls over HTTP.

    POST /evaluate plays one match with a model behind a chat service and returns affinetes' result. POST /reset, /step,
    /state and /stop play a task's match step by step, for training; these matches are recorded.

    Requests can only use what you allow here: services (--allow-base-url), keys by the names of environment variables
    (--key), and opponents (--opponent). A key is never taken from a request.

    Outside loopback, clients must send the token that you set in the environment variable GYMPOSIUM_SERVE_TOKEN:
    Authorization: Bearer TOKEN.

    Examples:

        gymposium serve-affinetes --allow-base-url http://127.0.0.1:11434/v1
        gymposium serve-affinetes --allow-base-url https://api.openai.com/v1 --key OPENAI_API_KEY
    """
    with require_extra("gymposium serve-affinetes", "gymposium-affinetes[serve]", "anyio", "starlette", "uvicorn"):
        from gymposium.http.listening import TOKEN, Listener
        from gymposium_affinetes.service import make_affinetes_app
    token = os.environ.get(TOKEN) or None
    settings = {"base_urls": allow_base_url or [], "keys": key or [], "opponents": opponent or ["mcts", "random"]}
    with Listener(host, port, names=name or (), token=token, variable=TOKEN) as listener:
        folder = RunFolder.create(out_dir, "serve-affinetes", settings)
        with RecordWriter(folder.matches) as records:
            app = make_affinetes_app(records.write, **settings, names=listener.names, token=token)
            print(listener.address, flush=True)
            print_note(f"Recording training matches in {folder.matches}. Press Ctrl-C to stop.")
            listener.serve(app)
