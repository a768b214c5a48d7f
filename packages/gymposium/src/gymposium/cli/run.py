"""The command `gymposium run`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from gymposium.cli.executors import AddressOption, ExecutorOption, JobsOption, open_optional_executor
from gymposium.cli.game import ParametersArgument, add_parameters
from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.matches import (
    PolicyOption,
    ScheduleOption,
    SeedOption,
    count_withheld,
    note_failed_replies,
    note_repeats,
)
from gymposium.cli.resume import OutOption, ResumeOption, check_settings, is_default, list_names_to_allow, reject_unused
from gymposium.cli.series import open_run, play_series
from gymposium.cli.text import make_stdout_console, print_note, show_status
from gymposium.errors import BadOption
from gymposium.games.registry import load_game
from gymposium.match import read_schedule
from gymposium.match.failures import FailurePolicy
from gymposium.match.seating import round_up_matches
from gymposium.runs.folder import RunFolder, check_run_path
from gymposium.runs.playing import Comparison, RunSettings, split_names
from gymposium.util.settings import dump_settings

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
    """Play many matches between players and print each player's results with 95% intervals.

    With swapped seats, the matches in one rotation share cards and dice. The same seed gives the same matches. Win,
    draw and loss rates are shares of matches. Illegal, unparsable and cut-off rates are shares of a player's replies.
    Each match is recorded in the run's folder when it ends. gymposium replay shows the match, and gymposium verify
    checks it.

    A stopped run continues with --resume. Recorded matches are not played again. With --jobs or --executor, matches are
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
        folder, settings = open_run(ctx, resume, "run", RunSettings)
        names = split_names(settings.players)
        check_settings([settings.game], names)
    elif game is None or players is None:
        raise BadOption(
            "No game or players given. Use:  gymposium run tic_tac_toe --players mcts-100,random  (or --resume DIR)."
        )
    else:
        name = add_parameters(game, parameters)
        loaded = load_game(name)
        if loaded.seats == 1:
            reject_unused(ctx, ("swap",), f"in {loaded.name}, which has one seat")
        if is_default(ctx, "matches"):
            matches = round_up_matches(MATCHES, loaded)
        names, policy = split_names(players), FailurePolicy.parse(on_illegal)
        settings = RunSettings(name, players, matches, seed, swap, policy, watchdog, read_schedule(schedule))
        check_run_path(out_dir)
    with show_status(f"Loading {settings.players}"):
        comparison = Comparison(settings, names)
    allow = list_names_to_allow([comparison.game.name], names)
    with open_optional_executor(executor, jobs, address, schedule=settings.schedule) as chosen:
        folder = folder or RunFolder.create(out_dir, "run", dump_settings(settings))
        played = play_series(
            folder,
            [comparison.seated],
            chosen,
            comparison.count,
            schedule=settings.schedule,
            allow=allow,
            watchdog=comparison.watchdog,
        )
    if as_json:
        print_json({**comparison.as_dict(), "record": str(folder.matches)})
    elif played.finished:
        _print_scores(comparison)
    if settings.matches > 1:
        note_repeats(comparison.game, comparison.players, settings.on_illegal)
    _note_failed_replies(comparison)
    print_note(f"Recorded in {folder.matches}")
    played.check(folder, allow)


def _print_scores(comparison: Comparison) -> None:
    """Print the scores as a table."""
    make_stdout_console().print(comparison.title, soft_wrap=True)
    table = Table("", *comparison.headings(), box=None)
    for label, cells in comparison.rows():
        table.add_row(label, *cells)
    make_stdout_console().print(table)


def _note_failed_replies(comparison: Comparison) -> None:
    """Print how to fix each player's cut-off and unparsable replies."""
    names = [player.name for player in comparison.players]
    for name in dict.fromkeys(names):
        mine = [number for number, other in enumerate(names) if other == name]
        withheld = count_withheld(comparison.players[number] for number in mine)
        note_failed_replies(name, [comparison.scores[number] for number in mine], withheld)
