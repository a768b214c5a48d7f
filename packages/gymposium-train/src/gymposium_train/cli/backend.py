"""The options `--backend` and `--base-url` of `gymposium train` and `gymposium serve`."""

from __future__ import annotations

from typing import Annotated

import typer

BackendOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Train the model in this backend (see gymposium plugins list). Default: local",
    ),
]
BaseUrlOption = Annotated[
    str | None,
    typer.Option(metavar="URL", help=("Connect to the backend's service at this address, for a backend that has one")),
]
