"""Options, progress bar and notes shared by the verbs that play matches."""

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

from gymposium.cli.text import make_stderr_console, print_note, use_display
from gymposium.games.protocol import Game
from gymposium.match.failures import FailurePolicy
from gymposium.players.protocol import Player, is_deterministic
from gymposium.plugins.command_line import format_command_line
from gymposium.records.scores import Score
from gymposium.util.visible import plural, quantity, visible

SeedOption = Annotated[int, typer.Option(metavar="N", help="Seed everything random")]
PolicyOption = Annotated[
    str,
    typer.Option(metavar="POLICY", help="Handle illegal replies by forfeit, random, retry(n) or penalty(x,k)"),
]
ShowOption = Annotated[
    int, typer.Option("--show", metavar="N", min=0, help="Show this many of the most costly decisions")
]
ScheduleOption = Annotated[
    str,
    typer.Option(
        metavar="rounds|streaming",
        help="Ask for all matches in rounds, or continue each match as soon as its answers arrive",
    ),
]


def note_record(record: Path) -> None:
    """Print the path of the record of a match that broke off."""
    print_note(f"The match so far is recorded in {record}:  {format_command_line('replay', str(record))}")


class _Description(ProgressColumn):
    """The progress bar's column with a task's name, which may be a file name."""

    def render(self, task: Task) -> Text:
        return Text(visible(task.description))


class _Rate(ProgressColumn):
    """The progress bar's column with the number of matches per second."""

    def render(self, task: Task) -> Text:
        return Text("" if task.speed is None else f"{task.speed:,.1f}/s")


@contextmanager
def show_match_bar() -> Iterator[Progress]:
    """Show a progress bar on stderr, only on a terminal."""
    console = make_stderr_console()
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
    with bar, use_display(console):
        yield bar


def note_remarks(players: Iterable[Player]) -> None:
    """Print the players' remarks on stderr."""
    for player in {id(player): player for player in players}.values():
        remarks = getattr(player, "remarks", None)
        for remark in () if remarks is None else remarks():
            print_note(f"{player.name}: {remark}")


_EXAMPLE = 160
"""Maximum number of characters shown from a reply in a note."""


def note_failed_replies(player: str, scores: Sequence[Score], withheld: int = 0) -> None:
    """Print on stderr how to fix a player's cut-off and unparsable replies.

    `withheld` replies also count as cut off, but the player's remarks explain them."""
    replies = sum(sum(score.readings.values()) for score in scores)
    cut_off = max(0, sum(score.readings["cut off"] for score in scores) - withheld)
    looping = sum(score.looping for score in scores)
    of_all = f"{player}: {cut_off} of {quantity(replies, 'reply', 'replies')} {plural(cut_off, 'was', 'were')}"
    if cut_off and 2 * looping > cut_off:
        print_note(
            f"{of_all} cut off, {looping} of them in a loop that repeats the same text to the end. A larger max_tokens "
            f"does not help there. Raise the temperature, as in temperature=0.6, or use another model."
        )
    elif cut_off:
        print_note(f"{of_all} cut off. Raise max_tokens.")
    unparsable = sum(score.readings["unparsable"] for score in scores)
    if unparsable:
        examples = [score.unparsable_example or "" for score in scores]
        example = next((text for text in examples if text.strip()), "")
        marked = sum(score.marked_moves for score in scores)
        if not example:
            advice = (
                "they hold no text, so another form of reply does not help. Train the model longer, or use another one"
            )
        elif marked:
            advice = f"reading=lenient, an option of language models, finds a move in {marked} of them"
        else:
            advice = "ask a language model for another form, with reply=tags, reply=json or reply=move, and prompt=full"
        nouns = f"{plural(replies, 'reply', 'replies')} {plural(unparsable, 'was', 'were')}"
        print_note(
            f"{player}: {unparsable} of {replies} {nouns} unparsable, such as {_quote_reply(example)}: {advice}."
        )


def count_withheld(players: Iterable[Player | None]) -> int:
    """Return the number of replies that these players' services withheld from this process."""
    different = {id(player): player for player in players}.values()
    return sum(getattr(player, "withheld", 0) for player in different)


def _quote_reply(reply: str) -> str:
    """Return a reply on one line, shortened in the middle, because the move is usually at the end."""
    text = " ".join(reply[:10_000].split() if len(reply) <= 10_000 else (reply[:200] + " … " + reply[-200:]).split())
    half = _EXAMPLE // 2
    shortened = text if len(text) <= _EXAMPLE else f"{text[:half].rstrip()} … {text[-half:].lstrip()}"
    return f"“{visible(shortened)}”" if text else "an empty one"


def note_repeats(game: Game, players: Sequence[Player], policy: FailurePolicy) -> None:
    """Print on stderr that these players' matches repeat each other, if nothing in them is random."""
    if game.spec.chance or policy.kind == "random" or not all(map(is_deterministic, players)):
        return
    names = " and ".join(dict.fromkeys(player.name for player in players))
    print_note(
        f"{game.name}, {names}: nothing in these matches is random. With the same seats, they are all the same match, "
        "so the intervals are meaningless. gymposium leaderboard run begins such matches with random moves."
    )
