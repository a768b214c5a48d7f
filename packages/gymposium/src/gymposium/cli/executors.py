"""The options of the verbs that play matches on executors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Annotated

import typer

from gymposium.cli.text import note
from gymposium.driver import Schedule, play
from gymposium.errors import BadOption, GymposiumError
from gymposium.executors.cutting import Cut
from gymposium.executors.make import LOCAL, running_executor
from gymposium.executors.protocol import Executor, ExecutorStart
from gymposium.executors.series import SeriesMatches
from gymposium.players.protocol import Player, repeats_of
from gymposium.plugins.host import host
from gymposium.records import recorded
from gymposium.runs.folder import RunMatches
from gymposium.watchdog import Watchdog

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


def play_missing(
    matches: SeriesMatches,
    players: Sequence[Player],
    log: RunMatches,
    executor: Executor | None,
    *,
    at_once: int,
    schedule: Schedule,
    watchdog: Watchdog | None = None,
    advance: Callable[[int], object],
) -> Counter[str]:
    """Play the matches of a series that `log` does not hold, in this process without an executor. `players` are its
    players as they are made in this process, by seat. Returns the number of matches that broke off, by reason.

    Raises what `play` raises in this process, and `GymposiumError` if workers cannot play them."""
    tag, broken = matches.series.tag, Counter[str]()
    missing = [number for number in range(matches.series.matches) if f"{tag}-{number}" not in log.finished]
    if executor is None:
        jobs = matches.jobs(players, missing)
        for played in recorded(play(jobs, at_once=at_once, watchdog=watchdog, schedule=schedule), log.write):
            advance(1)
            if played.ending.broke_off:
                broken[played.ending.detail] += 1
        return broken
    alike = all(repeats_of(player) in ("quickly", "slowly") for player in players)
    seconds = None if watchdog is None else watchdog.seconds
    cut = Cut(matches, missing, at_once=at_once, watchdog=seconds, whole_batches=not alike)
    error = None
    for done in executor.run(cut.parts()):
        log.append(done.lines)
        cut.add(done)
        broken.update(done.broken)
        error = error or done.error
        advance(len(done.lines))
    if error is not None:
        raise GymposiumError(f"A worker could not play on: {error}")
    return broken
