"""Series of matches for `run`, `eval` and `synth`, in a run folder with progress, resume and notes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import typer

from gymposium.cli.executors import EXECUTOR_OPTIONS
from gymposium.cli.matches import note_record, note_remarks, show_match_bar
from gymposium.cli.resume import explain_resume, reject_options_beside_resume
from gymposium.cli.text import print_error, print_note
from gymposium.match import EngineError, GameRefused, Schedule
from gymposium.match.seating import MatchPlan
from gymposium.match.watchdog import Watchdog
from gymposium.players.asking import find_source_file
from gymposium.players.protocol import Player
from gymposium.plugins.command_line import format_command_line
from gymposium.records import Record
from gymposium.runs.executors.protocol import Executor
from gymposium.runs.folder import RunFolder
from gymposium.runs.series import AT_ONCE, BreakOffs, SeatedSeries, play_missing
from gymposium.util.settings import read_settings
from gymposium.util.visible import quantity


def open_run(
    ctx: typer.Context, path: Path, command: str, kind: type, free: Collection[str] = ()
) -> tuple[RunFolder, Any]:
    """Open the folder of a run to resume, and return it with its settings, of class `kind`.

    Raises `BadOption` for a folder that is not a run of this command. Besides `--resume`, only executor options and the
    options in `free` may be given."""
    reject_options_beside_resume(ctx, {*free, *EXECUTOR_OPTIONS})
    folder = RunFolder.open(path, command)
    return folder, read_settings(f"{path}/settings.json", kind, folder.settings)


@dataclass(frozen=True, slots=True)
class PlayedSeries:
    """The outcome of all matches of a run."""

    finished: int
    """Number of matches that have a result."""
    break_offs: BreakOffs

    def check(self, folder: RunFolder, allow: Sequence[str]) -> None:
        """Print how many matches have no result, why, and how to play them.

        Ends the command with exit code 1 if no match has a result, or if some matches were never started."""
        if told := self.break_offs.description:
            again = format_command_line(folder.command, "--resume", str(folder.path), allow=allow)
            fails = not self.finished or self.break_offs.not_begun > 0
            (print_error if fails else print_note)(f"{told} Play them with  {again}")
            if fails:
                raise typer.Exit(1)


def play_series(
    folder: RunFolder,
    series: Sequence[SeatedSeries],
    executor: Executor | None,
    count: Callable[[int, Record], object],
    *,
    schedule: Schedule,
    allow: Sequence[str],
    at_once: int = AT_ONCE,
    watchdog: Watchdog | None = None,
) -> PlayedSeries:
    """Play the matches missing from a run's folder, one series after the other.

    Without an executor, matches are played in this process.

    `count` is called with every finished match and its number, in plan order, including those from before `--resume`.
    The players' tokens, cost, crashes and remarks are printed. If the run ends early, the resume command is printed,
    with `--allow` for the names in `allow`."""
    players = {id(player): player for one in series for player in one.players}.values()
    figures, break_offs = _SpendingTally(), BreakOffs()

    def count_match(number: int, record: Record) -> None:
        figures.add(record)
        count(number, record)

    with (
        folder.open_matches(MatchPlan(tuple(one.matches.series for one in series)), count_match) as log,
        explain_resume(
            partial(log.describe_progress, folder.path), folder.command, "--resume", str(folder.path), allow=allow
        ),
    ):
        try:
            with show_match_bar() as bar:
                for one in series:
                    total = one.matches.series.matches
                    finished = total - one.plan.numbers().count_missing(log.finished)
                    broken = play_missing(
                        one,
                        log,
                        executor,
                        schedule=schedule,
                        at_once=at_once,
                        watchdog=watchdog,
                        advance=partial(bar.advance, bar.add_task(one.title, total=total, completed=finished)),
                    )
                    break_offs.add(broken)
                log.finish()
        except EngineError as error:
            if not isinstance(error, GameRefused):  # then the match had not begun
                note_record(log.path)
            raise
        finally:
            figures.print_crashes(players)
    figures.print_spending()
    note_remarks(players)
    return PlayedSeries(len(log.finished), break_offs)


@dataclass(slots=True)
class _PlayerSpending:
    replies: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None


@dataclass(slots=True)
class _SpendingTally:
    """A tally of each player's spending and crashes in a run, taken from match records."""

    _spending: defaultdict[str, _PlayerSpending] = field(default_factory=lambda: defaultdict(_PlayerSpending))
    _crashes: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, record: Record) -> None:
        """Count the crashes in a match, and the tokens and cost that its players report."""
        for failure in record.ending.failures:
            if failure.kind == "crashed":
                self._crashes[record.players[failure.seat or 0], failure.detail] += 1
        for turn in record.turns:
            if "tokens" not in turn and "cost" not in turn:
                continue
            spent = self._spending[record.players[turn["seat"]]]
            prompt, completion = turn.get("tokens", (None, None))
            spent.replies += 1
            spent.prompt_tokens += prompt or 0
            spent.completion_tokens += completion or 0
            if "cost" in turn:
                spent.cost = (spent.cost or 0.0) + turn["cost"]

    def print_crashes(self, players: Iterable[Player]) -> None:
        """Print each crash on stderr, with the player's name and file."""
        files = {player.name: find_source_file(type(player)) for player in players}
        for (name, detail), count in self._crashes.most_common():
            times = "once" if count == 1 else f"{count} times"
            print_error(f"The player {name!r} failed in {files.get(name) or 'a worker'}, {times}. {detail}")

    def print_spending(self) -> None:
        """Print each player's tokens and cost on stderr."""
        for player, spent in self._spending.items():
            cost = "" if spent.cost is None else f", cost {spent.cost:.4f}"
            tokens = f"{quantity(spent.prompt_tokens, 'token')} in and {spent.completion_tokens:,} out"
            print_note(f"{player}: {quantity(spent.replies, 'reply', 'replies')}, {tokens}{cost}.")
