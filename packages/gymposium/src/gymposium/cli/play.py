"""The command `gymposium play`."""

from __future__ import annotations

import contextlib
import secrets
from pathlib import Path
from typing import Annotated

import typer

from gymposium.cli.game import GameArgument, ParametersArgument, add_parameters
from gymposium.cli.matches import note_record
from gymposium.cli.resume import OutOption, get_exit_code, raise_on_sigterm, reject_unused
from gymposium.cli.text import format_return, make_stdout_console, print_note, print_text
from gymposium.envs.table import Table, list_other_moves
from gymposium.errors import BadOption
from gymposium.games.registry import load_game
from gymposium.match import EngineError, MatchResult
from gymposium.match.ending import OVER
from gymposium.players.grammar import make_player
from gymposium.players.human import HumanPlayer
from gymposium.records import RecordWriter
from gymposium.runs.folder import RunFolder, check_run_path

_WORDS = {"win": "You win.", "loss": "You lose.", "draw": "A draw."}


def command(
    ctx: typer.Context,
    game: GameArgument,
    parameters: ParametersArgument = None,
    opponent: Annotated[
        str, typer.Option(metavar="PLAYER", help="Play against this player from gymposium list")
    ] = "random",
    seat: Annotated[int, typer.Option(min=0, metavar="N", help="Take this seat, counted from 0")] = 0,
    seed: Annotated[int | None, typer.Option(metavar="N", help="Seed the match (default: a random seed)")] = None,
    out_dir: OutOption = None,
) -> None:
    """Play a game at the terminal.

    You read the same prompts as a language model in your seat, and type moves as listed. Typos are not penalized. Type
    ? for the rules. Ctrl-C leaves without a record. With --opponent human, two people share the terminal.

    Examples:

        gymposium play tic_tac_toe
        gymposium play connect_four --opponent mcts-200 --seat 1
        gymposium play goofspiel num_cards=5 --seed 7
    """
    loaded = load_game(add_parameters(game, parameters))
    if seat >= loaded.seats:
        raise BadOption(f"--seat {seat}: {loaded.name} has seats 0 to {loaded.seats - 1}. Choose one of them.")
    if loaded.seats == 1:
        reject_unused(ctx, ("opponent",), f"in {loaded.name}, which has one seat")
    other = make_player(opponent)
    you = other if isinstance(other, HumanPlayer) else HumanPlayer()
    yours = [*range(loaded.seats)] if other is you else [seat]
    seed = secrets.randbits(32) if seed is None else seed
    match_id = f"play-{secrets.token_hex(4)}"
    with contextlib.suppress(ImportError):  # not on Windows
        import readline  # noqa: F401 - enables line editing and history

    check_run_path(out_dir)

    def write(played: MatchResult) -> Path:
        # created only now, so that an abandoned match leaves no folder
        settings = {"game": loaded.name, "opponent": opponent, "seat": seat, "seed": seed}
        file = RunFolder.create(out_dir, "play", settings).matches
        with RecordWriter(file) as writer:
            writer.write(played)
        return file

    try:
        with raise_on_sigterm():
            table = Table(loaded, seats=yours, opponents=other, seed=seed, name=you.name, match_id=match_id)
            told = 0
            while table.asked:
                told = _print_moves(table, yours, told)
                for asked in table.asked:
                    table.answer(asked.seat, you.read_reply(asked.ask))
            _print_moves(table, yours, told)
    except EngineError as error:
        note_record(write(error.played))
        raise
    except KeyboardInterrupt as stop:
        print()
        print_note("Stopped. Nothing is recorded.")
        raise typer.Exit(get_exit_code(stop)) from None
    assert table.played is not None, "no seat is asked any more"
    file = write(table.played)
    _print_end(table.played, yours)
    print_note(f"Recorded in {file} as match {match_id}")


def _print_moves(table: Table, yours: list[int], since: int) -> int:
    """Print other players' visible moves after the first `since` events.

    Returns the number of events so far."""
    if len(yours) == 1:
        players = table.job.players
        for seat, move in list_other_moves(table.match, yours[0], since):
            who = players[seat].name if len(players) == 2 else f"{players[seat].name} in seat {seat}"
            print_text(make_stdout_console(), f"{who} plays {move}.")
    return len(table.match.events)


def _print_end(played: MatchResult, yours: list[int]) -> None:
    """Print the last position and the result. Players at the terminal see only their own hidden information."""
    console, job = make_stdout_console(), played.job
    console.print()
    if played.ending == OVER:
        end = job.game.load(played.events)
        for seat in yours:
            print_text(console, end.observe(seat).text.rstrip("\n"))
    else:
        words = played.ending.describe(lambda seat: f"Seat {seat} ({job.players[seat].name})", played.cut_off)
        print_text(console, words, "bold")
    if job.game.seats == 1:
        console.print(f"The game is over. Your score is {played.returns[0]:g}.", style="bold")
        return
    if len(yours) == 1:
        console.print(_WORDS[played.result(yours[0])], style="bold")
    for seat, player in enumerate(job.players):
        who = "you" if yours == [seat] else player.name
        console.print(f"  seat {seat} ({who}): {played.result(seat)}, {format_return(played.returns[seat])}")
