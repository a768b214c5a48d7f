"""The command `gymposium serve-env`."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from gymposium.cli.listening import HostOption, NamesOption, PortOption
from gymposium.cli.matches import PolicyOption
from gymposium.cli.resume import OutOption, reject_other_options
from gymposium.cli.text import print_note
from gymposium.records import RecordWriter
from gymposium.runs.folder import RunFolder
from gymposium.util.extras import require_extra

PORT = 8710


def command(
    ctx: typer.Context,
    games: Annotated[
        list[str],
        typer.Argument(metavar="GAME", help="Games from gymposium list; the first is the default"),
    ],
    opponent: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PLAYER",
            help="Offer this player as an opponent (default: random; repeatable)",
        ),
    ] = None,
    on_illegal: PolicyOption = "forfeit",
    sessions: Annotated[int, typer.Option(min=1, metavar="N", help="Limit the number of concurrent clients")] = 64,
    idle: Annotated[
        float, typer.Option(min=1, metavar="SECONDS", help="End a session after this much idle time")
    ] = 900.0,
    port: PortOption = PORT,
    host: HostOption = "127.0.0.1",
    name: NamesOption = None,
    out_dir: OutOption = None,
    dockerfile: Annotated[
        bool, typer.Option("--dockerfile", help="Print a Dockerfile for this server instead of serving")
    ] = False,
    openenv_yaml: Annotated[
        bool, typer.Option("--openenv-yaml", help="Print openenv.yaml for this server instead of serving")
    ] = False,
) -> None:
    """Serve games as environments over a network, with the OpenEnv protocol.

    A client opens a websocket, at ws://HOST:PORT/ws for the first game or at ws://HOST:PORT/GAME/ws, and takes one
    seat: reset begins a match, and step plays a reply. Observations are the prompts that a language model would get.
    The same seed gives the same match, here and in gymnasium.make. Options of reset: seed, episode_id, game, seat,
    opponent, prompt (full or compact), reply (move, tags or json). OpenEnv's MCPToolClient plays by calling tools:
    those of the game, or move, legal_moves and resign.

    Every match is recorded in the run's folder, for gymposium verify.

    Only this machine can reach the server by default. With --host, clients must send the token that you set in the
    environment variable GYMPOSIUM_SERVE_TOKEN: Authorization: Bearer TOKEN, or ws://…/ws?token=TOKEN.

    Examples:

        gymposium serve-env tic_tac_toe
        gymposium serve-env "goofspiel(num_cards=5)" --opponent mcts-100
        gymposium serve-env kuhn_poker --host 0.0.0.0 --name games.example.org
        gymposium serve-env tic_tac_toe mail --dockerfile > Dockerfile
        gymposium serve-env tic_tac_toe mail --openenv-yaml > openenv.yaml
    """
    with require_extra("gymposium serve-env", "gymposium[serve]", "anyio", "starlette", "uvicorn", "websockets"):
        import websockets  # noqa: F401 - uvicorn needs it and would reject every client without it

        from gymposium.http.environments import EnvOffer, build_environments_app
        from gymposium.http.environments.dockerfile import build_dockerfile
        from gymposium.http.environments.manifest import build_manifest
        from gymposium.http.listening import TOKEN, Listener
    opponents = opponent or ["random"]
    offer = EnvOffer.from_names(games, opponents, on_illegal)
    offer.reject_unused_opponents(opponent or ())
    if dockerfile:
        reject_other_options(ctx, "dockerfile", ("games", "opponent", "on_illegal"))
        print(build_dockerfile(games, opponents, on_illegal), end="")
        return
    if openenv_yaml:
        reject_other_options(ctx, "openenv_yaml", ("games", "opponent", "on_illegal"))
        print(build_manifest(offer), end="")
        return
    token = os.environ.get(TOKEN) or None
    with Listener(host, port, names=name or (), token=token, variable=TOKEN) as listener:
        settings = {"games": games, "opponents": opponents, "on_illegal": on_illegal}
        folder = RunFolder.create(out_dir, "serve-env", settings)
        with RecordWriter(folder.matches) as records:
            app = build_environments_app(
                offer, records.write, names=listener.names, token=token, sessions=sessions, idle=idle
            )
            print(listener.address, flush=True)
            print_note(f"Matches are recorded in {folder.matches}. Press Ctrl-C to stop.")
            listener.serve(app)
