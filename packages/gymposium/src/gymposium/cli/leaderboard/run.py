"""`gymposium leaderboard run`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gymposium.allowed import allow
from gymposium.cli.matches import match_bar
from gymposium.cli.resume import plugin_files, told_how_to_go_on
from gymposium.cli.text import complain, note, out
from gymposium.errors import BadOption
from gymposium.extras import needs_extra
from gymposium.runs.folder import RUNS
from gymposium.visible import visible
from gymposium.writable import check_writable

if TYPE_CHECKING:
    from gymposium.arena.tournament import Tournament

_SHOWN = 12
"""Lines of each kind of trouble that are printed."""


def run_suite(
    suite: Annotated[
        Path | None,
        typer.Argument(
            metavar="SUITE",
            exists=True,
            dir_okay=False,
            help="A suite (TOML). May be left out where the board is there.",
        ),
    ] = None,
    board: Annotated[
        Path | None, typer.Option("--out", metavar="BOARD", file_okay=False, help="The board's directory.")
    ] = None,
    add: Annotated[
        list[str] | None,
        typer.Option(metavar="PLAYER", help="Enter this player, as written everywhere; may be given again."),
    ] = None,
    game: Annotated[
        list[str] | None,
        typer.Option(metavar="GAME", help="The added players enter this game of the suite alone; may be given again."),
    ] = None,
    label: Annotated[str | None, typer.Option(help="What people call the added player.")] = None,
    by: Annotated[str | None, typer.Option(help="Who enters it.")] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Of the added players. Drawn from the operating system where it is left out."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("-j", "--jobs", min=1, help="Worker processes; as many as there are cores by default.")
    ] = None,
) -> None:
    """Play a tournament: everything that a suite declares, as far as the board does not hold it yet.

    A suite names games, players, and how many match groups each pairing plays. A group is one deal, played once with
    each player in each seat; where nothing is left to chance and no player draws anything, it begins with a few random
    moves. The board is a directory: the suite, and a folder for each player with all its matches, which
    gymposium replay shows and gymposium verify plays again.

    Stop it whenever you like and give the same command again: it goes on where it was, and the files come out the same.
    A player that crashes, hangs or answers nonsense forfeits the matches in which it does; the rest goes on. A match
    that breaks off because a server is gone is nobody's loss and is played again by the next run.

    A player that is added meets all that were there before. Its matches are drawn from a seed that nobody could know
    when it was entered, unless --seed gives one.

    A suite and the entries of a board are files, perhaps somebody else's. Where one names a player that reads a path or
    asks a server, or a game that imports a module, allow it with gymposium --allow NAME; what --add names is allowed.

    Examples:

        gymposium leaderboard run benchmarks/leaderboard/quick.toml --out runs/quick
        gymposium leaderboard run --out runs/quick --add mcts-1000
        gymposium leaderboard run --out runs/quick --add exact --game tic_tac_toe --jobs 4
        gymposium --allow 'lm:runs/*' leaderboard run --out runs/quick
    """
    with needs_extra("Tournaments", "arena", "pydantic"):
        from gymposium.arena.board import Board
        from gymposium.arena.tournament import run_tournament
    from gymposium.arena.suite import read_suite

    if board is None and suite is None:
        raise BadOption(
            "Name a suite, and the board's directory with --out:  gymposium leaderboard run SUITE --out BOARD"
        )
    for option, given in (("--game", game), ("--label", label), ("--by", by)):
        if given and not add:
            raise BadOption(f"{option} is for players that --add enters.")
    if label and len(add or ()) > 1:
        raise BadOption("--label is for one player: add the others by commands of their own.")
    if suite is None:
        assert board is not None
        opened = Board(board)
        check_writable("--out", board)
    else:
        read = read_suite(suite)
        opened = Board.begin(check_writable("--out", board or RUNS / read.name), read)
    allow(*(add or ()))  # what is typed here is allowed to the workers too, who read it from the entry
    for player in add or ():
        opened.add(player, seed, game or (), label=label, by=by, made=datetime.now(UTC).date().isoformat())
    workers = jobs or os.cpu_count() or 1
    found: Tournament | None = None

    def kept() -> str:
        return f"What was played ({0 if found is None else found.played} matches this time) stands in {opened.path}."

    go_on = ("leaderboard", "run", "--out", str(opened.path))
    with told_how_to_go_on(kept, *go_on), match_bar() as bar:
        task = bar.add_task(opened.suite.name, total=None)

        def watch(state: Tournament) -> None:
            nonlocal found
            found = state
            bar.update(task, total=state.planned, completed=state.finished)

        found = run_tournament(opened, workers, plugin_files(), watch)
    _tell(found, opened.path)
    note(opened.suite.rules())
    if not found.complete:
        raise typer.Exit(1)


def _tell(found: Tournament, board: Path) -> None:
    console = out()
    console.print(
        f"{board}: {found.finished} of {found.planned} matches, {found.played} of them played now.", soft_wrap=True
    )
    _list([f"{player}: {what}, {_times(count)}" for (player, what), count in found.faults.most_common()])
    _list([f"{_times(count)}: a match broke off: {why}" for why, count in found.broken.most_common()])
    _list([f"{lineup}: its file was torn; it was recovered to its last whole line" for lineup in found.torn])
    _list([f"{lineup} could not be played: {why}" for lineup, why in found.unplayed.items()])
    if not found.complete:
        complain("The board is not complete. See to what is wrong, then give the same command again.")


def _list(lines: Sequence[str]) -> None:
    console = out()
    for line in lines[:_SHOWN]:
        console.print(visible(line), soft_wrap=True)
    if len(lines) > _SHOWN:
        console.print(f"and {len(lines) - _SHOWN} more of this kind")


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
