"""The command `gymposium leaderboard run`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gymposium.cli.executors import AddressOption, ExecutorOption, JobsOption, open_chosen_executor
from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.matches import show_match_bar
from gymposium.cli.resume import explain_resume, list_names_to_allow
from gymposium.cli.text import make_stdout_console, print_error, print_note
from gymposium.errors import BadOption
from gymposium.players.grammar import check_named_player
from gymposium.plugins.allowed import allow_names
from gymposium.runs.folder import RUNS
from gymposium.util.visible import quantity, visible
from gymposium.util.writable import check_writable

if TYPE_CHECKING:
    from gymposium_arena.tournament import Tournament

_MAX_SHOWN = 12
"""Maximum number of printed problems per kind."""


def run_suite(
    suite: Annotated[
        Path | None,
        typer.Argument(
            metavar="SUITE",
            exists=True,
            dir_okay=False,
            help="The suite's TOML file; not needed for an existing board",
        ),
    ] = None,
    board: Annotated[
        Path | None, typer.Option("--out", metavar="BOARD", file_okay=False, help="Write the board to this folder")
    ] = None,
    add: Annotated[
        list[str] | None,
        typer.Option(metavar="PLAYER", help="Enter this player; repeatable"),
    ] = None,
    game: Annotated[
        list[str] | None,
        typer.Option(metavar="GAME", help="Enter the added players in this game only; repeatable"),
    ] = None,
    label: Annotated[str | None, typer.Option(help="Set the display name of the added player")] = None,
    by: Annotated[str | None, typer.Option(help="Give your name, for the added player's entry")] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Set the seed of the added players; default: drawn from the operating system"),
    ] = None,
    executor: ExecutorOption = None,
    jobs: JobsOption = None,
    address: AddressOption = None,
    as_json: JsonOption = False,
) -> None:
    """Play a tournament: all matches of a suite that are missing on the board.

    A suite names games, players, and the number of match groups per lineup. A group is one deal, played once with
    each player in each seat. If neither the game nor the players are random, it begins with a few random moves.
    The board is a folder with the suite, and with a folder of matches for each player.

    You can stop the command at any time and run it again: it resumes and produces the same files. A player that
    crashes, hangs or returns no reply forfeits the match. A match that loses its server has no result and is
    replayed by the next run.

    An added player meets all earlier players. Its seed is drawn after it is entered, unless you give --seed.

    Suites and boards may come from other people. A player in them that reads a path or asks a server, or a game that
    imports a module, must be allowed with gymposium --allow NAME. Players named with --add are allowed.

    Examples:

        gymposium leaderboard run benchmarks/leaderboard/quick.toml --out runs/quick
        gymposium leaderboard run --out runs/quick --add mcts-1000
        gymposium leaderboard run --out runs/quick --add exact --game tic_tac_toe --jobs 4
        gymposium --allow 'lm:runs/*' leaderboard run --out runs/quick
        gymposium leaderboard run --out runs/quick --executor ray --address 10.0.0.1:6379
        gymposium leaderboard run --out runs/quick --json
    """
    from gymposium_arena.board import Board
    from gymposium_arena.schedule import find_unseated_games
    from gymposium_arena.suite import read_suite
    from gymposium_arena.tournament import run_tournament

    if board is None and suite is None:
        raise BadOption("Give a suite, and the board's folder with --out:  gymposium leaderboard run SUITE --out BOARD")
    for option, value in (("--game", game), ("--label", label), ("--by", by), ("--seed", seed)):
        if value is not None and not add:
            raise BadOption(f"{option} has no effect without --add. Add --add PLAYER.")
    if label and len(add or ()) > 1:
        raise BadOption(
            f"--label {label} applies to one player, not {len(add or ())}. Add the others with separate commands."
        )
    if suite is None:
        assert board is not None
        opened = Board.open_for_writing(board)
        check_writable("--out", board)
    else:
        read = read_suite(suite)
        opened = Board.open_or_create(check_writable("--out", board or RUNS / read.name), read)
    for entry in opened.entries() if add else ():
        check_named_player(entry.player)  # before entering a player that could not meet it
    allow_names(*list_names_to_allow((), add or ()))  # also for the workers, which read the names from the entries
    opened.add(add or (), seed, game or (), label=label, by=by, made=datetime.now(UTC).date().isoformat())
    last: Tournament | None = None

    def describe_progress() -> str:
        return f"The matches ({0 if last is None else last.played} in this run) are in {opened.path}."

    resume_command = ("leaderboard", "run", "--out", str(opened.path))
    with (
        explain_resume(describe_progress, *resume_command),
        open_chosen_executor(executor, jobs, address) as chosen,
        show_match_bar() as bar,
    ):
        task = bar.add_task(opened.suite.name, total=None)

        def watch(state: Tournament) -> None:
            nonlocal last
            last = state
            bar.update(task, total=state.planned, completed=state.finished)

        end = run_tournament(opened, chosen, watch)
    left_out = find_unseated_games(opened.suite, opened.entries())
    if as_json:
        print_json({**_to_json(end, opened.path), "left_out": [*left_out]})
    else:
        _print_tournament(end, opened.path)
    for reason in left_out.values():
        print_note(f"warning: {reason}")
    if not end.planned:
        print_error(f"{opened.path}: no match is planned. Add players with --add.")
        raise typer.Exit(1)
    if end.faults or end.broken:
        print_note(opened.suite.describe_rules())
    if not end.complete:
        print_error("The board is not complete. Fix the problems above, then run the same command again.")
        raise typer.Exit(1)


def _print_tournament(end: Tournament, board: Path) -> None:
    console = make_stdout_console()
    planned = quantity(end.planned, "match")
    console.print(f"{board}: {end.finished} of {planned} finished, {end.played} in this run.", soft_wrap=True)
    for problems in (
        [f"{player}: {what}, {_format_times(count)}" for (player, what), count in end.faults.most_common()],
        [f"{_format_times(count)}: a match broke off: {why}" for why, count in end.broken.most_common()],
        [f"{lineup}: its file was truncated and was recovered to its last complete line" for lineup in end.torn],
        [f"{lineup} could not be played: {why}" for lineup, why in end.unplayed.items()],
    ):
        for problem in problems[:_MAX_SHOWN]:
            console.print(visible(problem), soft_wrap=True)
        if len(problems) > _MAX_SHOWN:
            console.print(f"and {len(problems) - _MAX_SHOWN} more of this kind")


def _to_json(end: Tournament, board: Path) -> dict[str, Any]:
    return {
        "board": str(board),
        "planned": end.planned,
        "finished": end.finished,
        "played": end.played,
        "complete": end.complete,
        "faults": [{"player": player, "what": what, "times": count} for (player, what), count in end.faults.items()],
        "broken": dict(end.broken),
        "torn": list(end.torn),
        "unplayed": dict(end.unplayed),
    }


def _format_times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
