"""The options, the progress bar and the notes that the verbs which play matches share."""

from __future__ import annotations

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
    TimeRemainingColumn,
)
from rich.text import Text

from gymposium.cli.text import displaying, err, note
from gymposium.games.protocol import Game
from gymposium.match.failures import FailurePolicy
from gymposium.players.protocol import Player, is_deterministic
from gymposium.plugins.command_line import command_line
from gymposium.records.scores import Score
from gymposium.util.visible import visible

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
    note(f"The match so far is recorded in {record}:  {command_line('replay', str(record))}")


class _Description(ProgressColumn):
    """The name of a task, which may be that of a file."""

    def render(self, task: Task) -> Text:
        return Text(visible(task.description))


class _Rate(ProgressColumn):
    """The number of matches per second."""

    def render(self, task: Task) -> Text:
        return Text("" if task.speed is None else f"{task.speed:,.1f}/s")


@contextmanager
def match_bar() -> Iterator[Progress]:
    """A progress bar on stderr, shown only on a terminal."""
    console = err()
    bar = Progress(
        _Description(),
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


_EXAMPLE = 160
"""Number of characters of a reply that a note shows."""


def note_failed_replies(player: str, scores: Sequence[Score]) -> None:
    """Print on stderr how to fix the cut-off and unparsable replies of a player with these scores."""
    replies = sum(sum(score.readings.values()) for score in scores)
    cut_off = sum(score.readings["cut off"] for score in scores)
    looping = sum(score.looping for score in scores)
    if cut_off and 2 * looping > cut_off:
        note(
            f"{player}: {cut_off} of {replies} replies were cut off, {looping} of them in a loop: they repeat the same "
            f"text to the end, so a larger max_tokens does not help. Raise the temperature, as in temperature=0.6, or "
            f"take another model."
        )
    elif cut_off:
        note(f"{player}: {cut_off} of {replies} replies were cut off: raise max_tokens.")
    unparsable = sum(score.readings["unparsable"] for score in scores)
    if unparsable:
        example = next((score.unparsable_example for score in scores if score.unparsable_example is not None), "")
        marked = sum(score.marked_moves for score in scores)
        advice = (
            f"reading=lenient, an option of language models, finds a move in {marked} of them"
            if marked
            else "ask a language model for another form, with reply=tags, reply=json or reply=move, and prompt=full"
        )
        note(f"{player}: {unparsable} of {replies} replies were unparsable, such as {_quoted(example)}: {advice}.")


def _quoted(reply: str) -> str:
    """A reply on one line, shortened in the middle: the move is usually expected at the end."""
    text = " ".join(reply[:10_000].split() if len(reply) <= 10_000 else (reply[:200] + " … " + reply[-200:]).split())
    half = _EXAMPLE // 2
    shortened = text if len(text) <= _EXAMPLE else f"{text[:half].rstrip()} … {text[-half:].lstrip()}"
    return f"“{visible(shortened)}”" if text else "an empty one"


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
