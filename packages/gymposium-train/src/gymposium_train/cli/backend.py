"""The options `--backend` and `--base-url`, which `gymposium train` and `gymposium serve` have."""

from __future__ import annotations

from typing import Annotated

import typer

BackendOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Where the model learns; local, on this machine, by default. gymposium plugins list shows all backends.",
    ),
]
BaseUrlOption = Annotated[
    str | None, typer.Option(metavar="URL", help="The address of the backend's service, for a backend that has one.")
]
