"""The command `gymposium view`."""

from __future__ import annotations

import os
import secrets
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from gymposium.cli.listening import NamesOption, PortOption
from gymposium.cli.resume import reject_unused
from gymposium.cli.text import print_note
from gymposium.util.writable import check_writable

PORT = 8700
TOKEN = "GYMPOSIUM_VIEW_TOKEN"


def command(
    ctx: typer.Context,
    directory: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", exists=True, readable=True, help="A folder, or one record file (.jsonl, .jsonl.gz)"
        ),
    ],
    port: PortOption = PORT,
    host: Annotated[
        str,
        typer.Option(help="Listen on this address; addresses other than loopback need the printed token"),
    ] = "127.0.0.1",
    name: NamesOption = None,
    export: Annotated[
        Path | None,
        typer.Option(metavar="OUT", help="Write the pages to this folder instead of serving them"),
    ] = None,
    browser: Annotated[bool, typer.Option("--open/--no-open", help="Open a browser")] = True,
) -> None:
    """Show all matches and training runs below DIR in a browser.

    A match page shows, step by step, the board, each seat's view, the exact prompt, the raw reply, how it was parsed,
    why it failed, time and tokens. Arrow keys step through the match, and Home and End jump to its start and end. The
    address contains the step, so it can be shared.

    Matches can be filtered (lost by, illegal, long …), and two can be compared. Training runs have pages with live
    curves, several runs in one plot, and rollouts token by token. Reports of gymposium exploit have pages, too.

    Under Play you take a seat yourself, in any game and against any players. You see only what your seat may see.
    Finished matches are appended to DIR/played/matches.jsonl.

    Only this machine can reach the server, unless you give --host. Then every request must carry a token, taken from
    the environment variable GYMPOSIUM_VIEW_TOKEN or newly drawn. From another machine, prefer ssh -L
    8700:127.0.0.1:8700 without --host.

    Examples:

        gymposium view gymposium-runs
        gymposium view matches.jsonl --port 0 --no-open
        gymposium view gymposium-runs --export site
        gymposium view runs/first
    """
    from gymposium.http.requests import is_loopback
    from gymposium_viewer.app import export_pages as write_pages
    from gymposium_viewer.serve import serve

    if export is not None:
        reject_unused(ctx, ("port", "host", "name"), "beside --export")
        write_pages(directory, check_writable("--export", export))
        print_note(f"Written: {export / 'index.html'}")
        return
    token = os.environ.get(TOKEN) or (None if is_loopback(host) else secrets.token_urlsafe(24))

    def announce(address: str) -> None:
        print(address, flush=True)
        print_note("Press Ctrl-C to stop.")
        if browser and sys.stdout.isatty():
            webbrowser.open(address)

    serve(directory, host=host, port=port, names=name or [], token=token, announce=announce)
