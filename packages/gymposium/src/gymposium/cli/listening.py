"""The options of commands that listen for clients."""

from __future__ import annotations

from typing import Annotated

import typer

PortOption = Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 takes any free port.")]
HostOption = Annotated[str, typer.Option(help="The address to listen on. All but loopback addresses need a token.")]
NamesOption = Annotated[
    list[str] | None,
    typer.Option(metavar="HOST", help="A name by which other machines reach the server; may be given again."),
]
