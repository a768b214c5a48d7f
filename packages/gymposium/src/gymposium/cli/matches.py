"""What the verbs that play share: their options, and a bar."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from gymposium.cli.text import err, note
from gymposium.driver import SCHEDULES, EngineError, Schedule
from gymposium.errors import BadOption
from gymposium.players.protocol import Player

SeedOption = Annotated[int, typer.Option(help="Everything that is drawn follows from it.")]
PolicyOption = Annotated[
    str,
    typer.Option(
        metavar="POLICY", help="What a reply that is no legal move costs: forfeit, random, retry(n) or penalty(x,k)."
    ),
]
ScheduleOption = Annotated[
    str,
    typer.Option(
        metavar="rounds|streaming",
        help="Ask for all matches in step, or let each go on as soon as its own answers are in.",
    ),
]


@contextmanager
def telling_of(record: Path) -> Iterator[None]:
    """Where the engine of a game fails, say where the match so far is to be found."""
    try:
        yield
    except EngineError:
        tell_where(record)
        raise


def tell_where(record: Path) -> None:
    """Where a match is recorded that broke off."""
    note(f"The match so far is recorded in {record}:  gymposium replay {record}")


class _Rate(ProgressColumn):
    """Matches a second."""

    def render(self, task: Task) -> Text:
        return Text("" if task.speed is None else f"{task.speed:,.1f}/s")


def match_bar() -> Progress:
    """A bar on stderr, where somebody watches."""
    console = err()
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def note_remarks(players: Iterable[Player]) -> None:
    """What the players have to say of how it went, on stderr."""
    for player in {id(player): player for player in players}.values():
        remarks = getattr(player, "remarks", None)
        for remark in () if remarks is None else remarks():
            note(f"{player.name}: {remark}")


def read_schedule(text: str) -> Schedule:
    """The schedule called so, or `BadOption`."""
    for schedule in SCHEDULES:
        if text == schedule:
            return schedule
    raise BadOption(f"--schedule {text}: write {' or '.join(SCHEDULES)}.")
