"""The options of the verbs that play matches on executors."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Annotated

import typer

from gymposium.cli.text import note
from gymposium.errors import BadOption
from gymposium.plugins.host import host
from gymposium.runs.executors.make import LOCAL, running_executor
from gymposium.runs.executors.protocol import Executor, ExecutorStart

ExecutorOption = Annotated[
    str | None,
    typer.Option(
        "--executor",
        metavar="local|ray",
        help="Where matches are played: in processes of this machine, or on a Ray cluster (gymposium-ray).",
    ),
]
AddressOption = Annotated[
    str | None,
    typer.Option(metavar="HOST:PORT", help="The address of the cluster, for --executor ray; that of Ray by default."),
]
JobsOption = Annotated[
    int | None, typer.Option("-j", "--jobs", min=1, help="Number of workers; one per core by default.")
]

EXECUTOR_OPTIONS = ("executor", "jobs", "address")
"""The parameters of these options; a run that goes on may be given others."""


def chosen_executor(name: str | None, jobs: int | None, address: str | None) -> AbstractContextManager[Executor]:
    """Context with the executor that the options name, by default `local`. Raises `BadOption` for an address without a
    cluster."""
    if address is not None and name in (None, LOCAL):
        raise BadOption(f"--address {address} is for a cluster: add --executor ray.")
    start = ExecutorStart(workers=jobs, plugins=tuple(host().files), address=address, note=note)
    return running_executor(name or LOCAL, start)


def executor_if_chosen(
    name: str | None, jobs: int | None, address: str | None, *, schedule: str, start_server: bool = False
) -> AbstractContextManager[Executor | None]:
    """As `chosen_executor`, but None if no option names one: the matches are then played in this process.
    `start_server` tells whether players share a server that lasts as long as the command.

    Raises `BadOption` for what workers cannot do."""
    if name is None and jobs is None and address is None:
        return nullcontext()
    if schedule != "rounds":
        raise BadOption(f"--schedule {schedule}: workers play in rounds; leave out --executor and --jobs, or this.")
    if start_server:
        raise BadOption(
            "--start-server: workers do not share that server. Start one with  gymposium engine start  and name it in "
            "the player (engine=URL), or leave out --executor and --jobs."
        )
    return chosen_executor(name, jobs, address)
