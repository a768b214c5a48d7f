"""The options, the progress bar and the notes that the verbs which play matches share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
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

from gymposium.cli.text import displaying, err, note
from gymposium.failures import FailurePolicy
from gymposium.games.protocol import Game
from gymposium.players.protocol import Player, is_deterministic
from gymposium.scores import Score

SeedOption = Annotated[int, typer.Option(help="The seed of everything that is random.")]
PolicyOption = Annotated[
    str,
    typer.Option(
        metavar="POLICY", help="Policy for replies that are not legal moves: forfeit, random, retry(n) or penalty(x,k)."
    ),
]
ShowOption = Annotated[
    int, typer.Option("--show", metavar="N", min=0, help="The number of decisions to show: those that cost most.")
]
ScheduleOption = Annotated[
    str,
    typer.Option(
        metavar="rounds|streaming",
        help="Ask for all matches in rounds, or let each match go on as soon as its own answers are in.",
    ),
]


def note_record(record: Path) -> None:
    """Prints where a match that broke off is recorded."""
    note(f"The match so far is recorded in {record}:  gymposium replay {record}")


class _Rate(ProgressColumn):
    """The number of matches per second."""

    def render(self, task: Task) -> Text:
        return Text("" if task.speed is None else f"{task.speed:,.1f}/s")


@contextmanager
def match_bar() -> Iterator[Progress]:
    """A progress bar on stderr, shown only on a terminal."""
    console = err()
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar, displaying(console):
        yield bar


def note_remarks(players: Iterable[Player]) -> None:
    """Prints the remarks of the players about their play on stderr."""
    for player in {id(player): player for player in players}.values():
        remarks = getattr(player, "remarks", None)
        for remark in () if remarks is None else remarks():
            note(f"{player.name}: {remark}")


def note_cut_off(player: str, scores: Iterable[Score]) -> None:
    """Prints on stderr which option of a language model to raise if replies of a player with these scores were cut
    off."""
    readings = sum((Counter(score.readings) for score in scores), Counter[str]())
    if readings["cut off"]:
        note(f"{player}: {readings['cut off']} of {readings.total()} replies were cut off: raise max_tokens.")


def note_repeats(game: Game, players: Sequence[Player], policy: FailurePolicy) -> None:
    """Prints on stderr that the matches between these players repeat each other, if nothing in them is drawn at
    random."""
    if game.spec.chance or policy.kind == "random" or not all(map(is_deterministic, players)):
        return
    names = " and ".join(dict.fromkeys(player.name for player in players))
    note(
        f"{game.name}, {names}: nothing in these matches is drawn at random, so with the same seats they are the same "
        "match, and the intervals mean nothing. gymposium leaderboard run begins such matches with random moves."
    )
