"""`gymposium view`."""

from __future__ import annotations

import os
import secrets
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from gymposium.cli.text import note
from gymposium.extras import needs_extra
from gymposium.writable import check_writable

PORT = 8700
TOKEN = "GYMPOSIUM_VIEW_TOKEN"


def command(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", exists=True, readable=True, help="A folder, or one record file (JSONL).")
    ],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0 takes any free port.")] = PORT,
    host: Annotated[
        str, typer.Option(help="The address to listen on. Any but loopback needs a token, which is printed.")
    ] = "127.0.0.1",
    name: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST", help="A name that the server is reached by from elsewhere; may be given again."),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(metavar="OUT", help="Write the pages into this folder instead, to be opened without a server."),
    ] = None,
    browser: Annotated[bool, typer.Option("--open/--no-open", help="Whether to open a browser.")] = True,
) -> None:
    """Look at what was played, in a browser: every match below DIR, move by move.

    A match page shows the board, what each seat saw, the prompt as it was sent, the raw reply, how it was read and why
    it failed, time and tokens. Arrow keys step, Home and End go to the ends; the address names the step, so it can be
    sent to somebody. Matches can be filtered (lost by, illegal, long …) and two of them set side by side.

    Training runs below DIR have their own pages: curves that grow as a run goes on, several runs over each other, and
    what was learned from, token by token.

    Under Play you take a seat yourself, in any game, against any players: choose, and click on moves or type them. You
    see what your seat may see; a match that is over is appended to DIR/played/matches.jsonl.

    Nobody but this machine reaches the server, unless --host says otherwise; then every request must carry a token: the
    one in the environment variable GYMPOSIUM_VIEW_TOKEN, else a fresh one. From another machine, better use
    ssh -L 8700:127.0.0.1:8700 and no --host at all.

    Examples:

        gymposium view gymposium-runs
        gymposium view matches.jsonl --port 0 --no-open
        gymposium view gymposium-runs --export site
        gymposium view runs/first
    """
    with needs_extra("gymposium view", "viewer", "jinja2", "markupsafe", "starlette", "uvicorn"):
        from gymposium.viewer.app import export as write_pages
        from gymposium.viewer.guard import is_loopback
        from gymposium.viewer.serve import serve
    if export is not None:
        write_pages(directory, check_writable("--export", export))
        note(f"Written: {export / 'index.html'}")
        return
    token = os.environ.get(TOKEN) or (None if is_loopback(host) else secrets.token_urlsafe(24))

    def told(address: str) -> None:
        print(address, flush=True)
        note("Ctrl-C stops it.")
        if browser and sys.stdout.isatty():
            webbrowser.open(address)

    serve(directory, host=host, port=port, names=name or [], token=token, announce=told)
