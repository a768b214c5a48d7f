"""The command `gymposium run`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Annotated

import typer
from rich.table import Table

from gymposium.cli.executors import (
    EXECUTOR_OPTIONS,
    AddressOption,
    ExecutorOption,
    JobsOption,
    executor_if_chosen,
)
from gymposium.cli.game import ParametersArgument, with_parameters
from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.matches import (
    PolicyOption,
    ScheduleOption,
    SeedOption,
    count_withheld,
    note_failed_replies,
    note_remarks,
    note_repeats,
)
from gymposium.cli.player_crashes import PlayerCrashes
from gymposium.cli.resume import (
    OutOption,
    ResumeOption,
    check_break_offs,
    check_settings,
    is_default,
    open_matches,
    refuse_beside_resume,
    refuse_unused,
    to_allow,
)
from gymposium.cli.spending import Spending
from gymposium.cli.text import busy, note, out
from gymposium.errors import BadOption
from gymposium.games.registry import load_game
from gymposium.match.seating import even_share
from gymposium.runs.executors.protocol import Executor
from gymposium.runs.folder import RunFolder, check_new
from gymposium.runs.playing import Comparison, RunSettings, split_names
from gymposium.util.settings import read_settings

MATCHES = 100
"""Default number of matches, before rounding up to a multiple of the number of seats."""


def command(
    ctx: typer.Context,
    game: Annotated[
        str | None, typer.Argument(metavar="GAME", help="Game from gymposium list, with optional parameters")
    ] = None,
    parameters: ParametersArgument = None,
    players: Annotated[
        str | None, typer.Option("--players", metavar="A,B", help="Use one player from gymposium list per seat")
    ] = None,
    matches: Annotated[
        int,
        typer.Option("-n", "--matches", min=1, metavar="N", help="Play this many matches"),
    ] = MATCHES,
    seed: SeedOption = 0,
    swap: Annotated[bool, typer.Option("--swap/--no-swap", help="Change seats from match to match")] = True,
    on_illegal: PolicyOption = "forfeit",
    watchdog: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Limit the wall time per answer; a late player forfeits"),
    ] = None,
    schedule: ScheduleOption = "rounds",
    executor: ExecutorOption = None,
    jobs: JobsOption = None,
    address: AddressOption = None,
    out_dir: OutOption = None,
    resume: ResumeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Play many matches between players and print each player's results with 95 % intervals.

    With swapped seats, the matches in one rotation share cards and dice. The same seed gives the same matches. Wins,
    draws and losses are shares of matches; illegal, unparsable and cut-off are shares of a player's replies. Each match
    is recorded in the run's folder when it ends: gymposium replay shows it, and gymposium verify replays and checks it.

    A stopped run continues with --resume. Recorded matches are not replayed. With --jobs or --executor, matches are
    played in worker processes, where a player that crashes or hangs forfeits its match.

    Examples:

        gymposium run tic_tac_toe --players mcts-100,random -n 200 --seed 1
        gymposium run kuhn_poker --players random,random --no-swap --out kuhn
        gymposium run kuhn_poker --players mcts-50,random --json > score.json
        gymposium run hex --players mcts-1000,mcts-100 -n 1000 --jobs 8
        gymposium run --resume kuhn
    """
    folder = None
    if resume is not None:
        refuse_beside_resume(ctx, EXECUTOR_OPTIONS)
        folder = RunFolder.open(resume, "run")
        settings: RunSettings = read_settings(f"{resume}/settings.json", RunSettings, folder.settings)
        check_settings([settings.game], split_names(settings.players))
    elif game is None or players is None:
        raise BadOption(
            "No game or players given. Use:  gymposium run tic_tac_toe --players mcts-100,random  (or --resume DIR)."
        )
    else:
        name = with_parameters(game, parameters)
        loaded = load_game(name)
        if loaded.seats == 1:
            refuse_unused(ctx, ("swap",), f"in {loaded.name}, which has one seat")
        if is_default(ctx, "matches"):
            matches = even_share(MATCHES, loaded)
        settings = RunSettings(name, players, matches, seed, swap, on_illegal, watchdog, schedule)
        check_new(out_dir)
    with busy(f"Loading {settings.players}"):
        comparison = Comparison(settings, split_names(settings.players))
    allow = to_allow([comparison.game.name], split_names(settings.players))
    with executor_if_chosen(executor, jobs, address, schedule=settings.schedule) as chosen:
        folder = folder or RunFolder.create(out_dir, "run", asdict(settings))
        with folder.removed_on_error():
            spending, crashes = _play(comparison, folder, chosen, allow)
    if as_json:
        print_json({**comparison.as_dict(), "record": str(folder.matches)})
    elif comparison.scores[0].matches:
        _print(comparison)
    crashes.complain(comparison.players)
    spending.note()
    note_remarks(comparison.players)
    if comparison.settings.matches > 1:
        note_repeats(comparison.game, comparison.players, comparison.policy)
    _note_failed_replies(comparison)
    note(f"Recorded in {folder.matches}")
    check_break_offs(comparison.break_offs, comparison.scores[0].matches, folder, allow)


def _play(
    comparison: Comparison, folder: RunFolder, executor: Executor | None, allow: Sequence[str]
) -> tuple[Spending, PlayerCrashes]:
    """Play the missing matches, and total the scores, spending and crashes of all matches."""
    spending, crashes = Spending(), PlayerCrashes()
    with open_matches(folder, comparison.plan, allow) as (log, bar):
        task = bar.add_task(comparison.game.name, total=comparison.settings.matches, completed=len(log.finished))
        comparison.play(log, executor, partial(bar.advance, task))
        for record in log.in_order():
            comparison.count(record)
            spending.add(record)
            crashes.add(record)
    return spending, crashes


def _print(comparison: Comparison) -> None:
    """Print the scores as a table."""
    out().print(comparison.title, soft_wrap=True)
    table = Table("", *comparison.headings(), box=None)
    for label, cells in comparison.rows():
        table.add_row(label, *cells)
    out().print(table)


def _note_failed_replies(comparison: Comparison) -> None:
    """Print how to fix each player's cut-off and unparsable replies."""
    names = [player.name for player in comparison.players]
    for name in dict.fromkeys(names):
        mine = [number for number, other in enumerate(names) if other == name]
        withheld = count_withheld(comparison.players[number] for number in mine)
        note_failed_replies(name, [comparison.scores[number] for number in mine], withheld)
