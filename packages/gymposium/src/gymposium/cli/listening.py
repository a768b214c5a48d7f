"""Options of commands that listen for clients."""

from __future__ import annotations

from typing import Annotated

import typer

PortOption = Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="Listen on this port; 0 picks a free one")]
HostOption = Annotated[
    str, typer.Option(metavar="ADDRESS", help="Listen on this address; only loopback needs no token")
]
NamesOption = Annotated[
    list[str] | None,
    typer.Option(metavar="HOST", help="Accept this server name from other machines (repeatable)"),
]
