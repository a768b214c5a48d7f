"""The command `gymposium serve-mcp`."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import Annotated

import anyio
import typer

from gymposium.cli.listening import HostOption, NamesOption
from gymposium.cli.matches import PolicyOption
from gymposium.cli.resume import OutOption
from gymposium.cli.text import print_note
from gymposium.errors import BadOption
from gymposium.records import RecordWriter
from gymposium.runs.folder import RunFolder


def command(
    games: Annotated[
        list[str],
        typer.Argument(metavar="GAME", help="Games from gymposium list, or one task with tools"),
    ],
    opponent: Annotated[
        list[str] | None,
        typer.Option(metavar="PLAYER", help="Offer this player as an opponent (default: random; repeatable)"),
    ] = None,
    on_illegal: PolicyOption = "forfeit",
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, metavar="N", help="Serve streamable HTTP on this port; 0 picks a free one"),
    ] = None,
    host: HostOption = "127.0.0.1",
    name: NamesOption = None,
    out_dir: OutOption = None,
) -> None:
    """Serve games and tasks to MCP clients, over standard input and output or HTTP.

    The tools are new_match, move, legal_moves and resign, or new_match and the tools of a task. The client takes one
    seat, and this server's players take the others. Seeds are drawn, so no client can play a deal twice.

    Every match is recorded in the run's folder, for gymposium verify.

    With --port, the server answers at http://HOST:PORT/mcp, which only this machine can reach by default. With --host,
    clients must send the token that you set in the environment variable GYMPOSIUM_SERVE_TOKEN: Authorization: Bearer
    TOKEN.

    Examples:

        gymposium serve-mcp tic_tac_toe
        gymposium serve-mcp kuhn_poker leduc_poker --opponent mcts-100
        gymposium serve-mcp mail --port 8730
    """
    from gymposium.http.environments import EnvOffer
    from gymposium.http.listening import TOKEN, Listener
    from gymposium_mcp.serving import MatchServer, list_served_tools, serve_stdio

    if port is None and (host != "127.0.0.1" or name):
        raise BadOption("--host and --name need --port, which serves HTTP.")
    opponents = opponent or ["random"]
    offer = EnvOffer.from_names(games, opponents, on_illegal)
    offer.reject_unused_opponents(opponent or ())
    tools = list_served_tools(offer)
    token = os.environ.get(TOKEN) or None
    with ExitStack() as stack:
        listener = None
        if port is not None:
            listener = stack.enter_context(Listener(host, port, names=name or (), token=token, variable=TOKEN))
        settings = {"games": games, "opponents": opponents, "on_illegal": on_illegal}
        folder = RunFolder.create(out_dir, "serve-mcp", settings)
        records = stack.enter_context(RecordWriter(folder.matches))
        server = MatchServer(offer, tools, records.write)
        stack.callback(server.close)
        if listener is not None:
            print(f"{listener.address}/mcp", flush=True)
        print_note(f"Matches are recorded in {folder.matches}. Press Ctrl-C to stop.")
        if listener is None:
            anyio.run(serve_stdio, server)
        else:
            listener.serve(server.build_app(names=listener.names, token=token))
