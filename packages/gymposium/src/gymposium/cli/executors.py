"""The options of the verbs that play matches on executors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from gymposium.cli.resume import plugin_files
from gymposium.cli.text import note
from gymposium.errors import BadOption, GymposiumError
from gymposium.executors.cutting import Cut
from gymposium.executors.make import LOCAL, running_executor
from gymposium.executors.protocol import Executor, ExecutorStart, RunPart
from gymposium.executors.series import SeriesMatches
from gymposium.players.protocol import Player, repeats_of
from gymposium.runs.folder import RunMatches

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


@contextmanager
def chosen_executor(name: str | None, jobs: int | None, address: str | None) -> Iterator[Executor]:
    """Context with the executor that the options name, by default `local`."""
    if address is not None and name in (None, LOCAL):
        raise BadOption(f"--address {address} is for a cluster: add --executor ray.")
    start = ExecutorStart(workers=jobs, plugins=tuple(plugin_files()), address=address, note=note)
    with running_executor(name or LOCAL, start) as executor:
        yield executor


@contextmanager
def executor_if_chosen(
    name: str | None, jobs: int | None, address: str | None, *, schedule: str, start_server: bool = False
) -> Iterator[Executor | None]:
    """As `chosen_executor`, but None if no option names one: the matches are then played in this process.
    `start_server` tells whether players share a server that lasts as long as the command.

    Raises `BadOption` for what workers cannot do."""
    if name is None and jobs is None and address is None:
        yield None
        return
    if schedule != "rounds":
        raise BadOption(f"--schedule {schedule}: workers play in rounds; leave out --executor and --jobs, or this.")
    if start_server:
        raise BadOption(
            "--start-server: workers do not share that server. Start one with  gymposium engine start  and name it in "
            "the player (engine=URL), or leave out --executor and --jobs."
        )
    with chosen_executor(name, jobs, address) as executor:
        yield executor


def play_series(
    executor: Executor,
    matches: SeriesMatches,
    players: Iterable[Player],
    log: RunMatches,
    *,
    at_once: int,
    watchdog: float | None = None,
    advance: Callable[[int], object],
) -> Counter[str]:
    """Play the matches of a series that `log` does not hold. `players` are its players as they are made in this
    process. Returns the number of matches that broke off, by reason.

    Raises `GymposiumError` if workers cannot play them."""
    tag = matches.series.tag
    missing = [number for number in range(matches.series.matches) if f"{tag}-{number}" not in log.finished]
    alike = all(repeats_of(player) in ("quickly", "slowly") for player in players)
    cut = Cut(matches, missing, at_once=at_once, watchdog=watchdog, whole_batches=not alike)

    def parts() -> Iterator[RunPart]:
        while cut.rest:
            yield cut.part()

    broken, error = Counter[str](), None
    for done in executor.run(parts()):
        log.append(done.lines)
        cut.add(done)
        broken.update(done.broken)
        error = error or done.error
        advance(len(done.lines))
    if error is not None:
        raise GymposiumError(f"A worker could not play on: {error}")
    return broken
