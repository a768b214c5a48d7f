"""Options for verbs that can play matches on executors."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Annotated

import typer

from gymposium.cli.text import print_note
from gymposium.errors import BadOption
from gymposium.plugins.host import host
from gymposium.runs.executors.make import LOCAL, open_executor
from gymposium.runs.executors.protocol import Executor, ExecutorStart

ExecutorOption = Annotated[
    str | None,
    typer.Option(
        "--executor",
        metavar="local|ray",
        help="Play matches in local processes or on a Ray cluster (gymposium-ray)",
    ),
]
AddressOption = Annotated[
    str | None,
    typer.Option(metavar="HOST:PORT", help="Use the Ray cluster at this address (default: Ray's own)"),
]
JobsOption = Annotated[
    int | None, typer.Option("-j", "--jobs", min=1, metavar="N", help="Use this many workers (default: one per core)")
]

EXECUTOR_OPTIONS = ("executor", "jobs", "address")
"""Parameter names of the executor options. A resumed run may change their values."""


def open_chosen_executor(name: str | None, jobs: int | None, address: str | None) -> AbstractContextManager[Executor]:
    """Open the executor chosen by the options, by default `local`.

    Raises `BadOption` if a cluster address is given for an executor that is not a cluster."""
    if address is not None and name in (None, LOCAL):
        raise BadOption(f"--address {address} needs a cluster. Add --executor ray.")
    start = ExecutorStart(workers=jobs, plugins=tuple(host().files), address=address, note=print_note)
    return open_executor(name or LOCAL, start)


def open_optional_executor(
    name: str | None, jobs: int | None, address: str | None, *, schedule: str, start_server: bool = False
) -> AbstractContextManager[Executor | None]:
    """Open the executor chosen by the options.

    Without such an option, the context yields None and matches are played in this process.

    `start_server` is True if players share a server that the command starts.

    Raises `BadOption` for options that workers do not support."""
    if name is None and jobs is None and address is None:
        return nullcontext()
    if schedule != "rounds":
        raise BadOption(
            f"--schedule {schedule} conflicts with --executor, --jobs and --address. Remove --schedule, or the others."
        )
    if start_server:
        raise BadOption(
            "--start-server conflicts with --executor and --jobs. Start a server with  gymposium engine start  and add "
            "engine=URL to the player, or remove --executor and --jobs."
        )
    return open_chosen_executor(name, jobs, address)
