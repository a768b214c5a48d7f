"""`gymposium play`."""

from __future__ import annotations

import contextlib
import secrets
from typing import Annotated

import typer

from gymposium.cli.matches import RECORD, RecordOption, open_record, telling_of
from gymposium.cli.text import note, number, out, show
from gymposium.driver import MatchJob, Played, play
from gymposium.errors import BadOption
from gymposium.games.registry import load_game
from gymposium.players.grammar import make_player
from gymposium.players.human import HumanPlayer
from gymposium.records import recorded

_WORDS = {"win": "You win.", "loss": "You lose.", "draw": "A draw."}


def command(
    game: Annotated[str, typer.Argument(metavar="GAME", help="As in gymposium list; parameters may be given.")],
    opponent: Annotated[
        str, typer.Option(metavar="PLAYER", help="Who takes the other seats, as in gymposium list.")
    ] = "random",
    seat: Annotated[int, typer.Option(min=0, help="Your seat, counted from 0.")] = 0,
    seed: Annotated[int | None, typer.Option(help="To play the same match again; otherwise a fresh one.")] = None,
    record: RecordOption = RECORD,
) -> None:
    """Play a game at the terminal.

    You read what a language model in your seat would read, and type moves as they are listed. A typing
    error costs nothing. Type ? for the rules; Ctrl-C leaves without a record. With --opponent human two people
    share the terminal.

    Examples:

        gymposium play tic_tac_toe
        gymposium play connect_four --opponent mcts-200 --seat 1
        gymposium play "goofspiel(num_cards=5)" --seed 7
    """
    loaded = load_game(game)
    if seat >= loaded.seats:
        raise BadOption(f"--seat {seat}: {loaded.name} has seats 0 to {loaded.seats - 1}.")
    other = make_player(opponent)
    you = other if isinstance(other, HumanPlayer) else HumanPlayer()
    seed = secrets.randbits(32) if seed is None else seed
    job = MatchJob(
        id=f"play-{secrets.token_hex(4)}",
        game=loaded,
        players=[you if s == seat else other for s in range(loaded.seats)],
        seed=seed,
    )
    with contextlib.suppress(ImportError):  # not on Windows
        import readline  # noqa: F401 - arrow keys then edit the line and recall earlier ones

    def write(played: Played) -> None:
        with open_record(record) as writer:  # only now: who leaves early leaves no file
            writer.write(played)

    try:
        with telling_of(record):
            played = next(recorded(play([job]), write))
    except KeyboardInterrupt:
        print()
        note("Stopped; nothing is recorded.")
        raise typer.Exit(130) from None
    _show_end(played, [s for s, player in enumerate(job.players) if player is you])
    note(f"Recorded in {record} as match {job.id}")


def _show_end(played: Played, yours: list[int]) -> None:
    """The last position and the result, as the people who played may see them."""
    console, job = out(), played.job
    end = job.game.load(played.events) if played.forfeit is None else None
    console.print()
    for seat in yours:
        if end is not None:
            show(console, end.observe(seat).text.rstrip("\n"))
    if played.forfeit is not None:
        console.print(f"Seat {played.forfeit} ({job.players[played.forfeit].name}) forfeits.", style="bold")
    if job.game.seats == 1:
        console.print(f"The game is over. Your score is {played.returns[0]:g}.", style="bold")
        return
    if len(yours) == 1:
        console.print(_WORDS[played.result(yours[0])], style="bold")
    for seat, player in enumerate(job.players):
        who = "you" if yours == [seat] else player.name
        console.print(f"  seat {seat} ({who}): {played.result(seat)}, {number(played.returns[seat])}")
