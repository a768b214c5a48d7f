"""Stopping and resuming runs: options and notes of resumable verbs."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from gymposium.cli.text import print_note
from gymposium.cli.usage import get_spelling
from gymposium.errors import BadOption, GymposiumError, PermissionRequired
from gymposium.games.registry import check_named_game
from gymposium.match import GameRefused
from gymposium.players.grammar import check_named_player
from gymposium.plugins.allowed import is_allowed
from gymposium.plugins.command_line import format_command_line

OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Write the run to this new or empty folder (default: a new one under gymposium-runs/)",
    ),
]
ResumeOption = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Resume the run in this folder, with its settings"),
]

_NOTHING = "Nothing is recorded yet."


class TerminationSignal(KeyboardInterrupt):
    """Raised on SIGTERM, which ends a command like Ctrl-C."""


def get_exit_code(stop: KeyboardInterrupt) -> int:
    """Return a stopped command's exit code. As in shells, it is 128 plus the signal number."""
    return 128 + (signal.SIGTERM if isinstance(stop, TerminationSignal) else signal.SIGINT)


@contextmanager
def raise_on_sigterm() -> Iterator[None]:
    """Make SIGTERM raise `TerminationSignal` in the block.

    No effect outside the main thread, the only one that gets signals."""

    def handle_sigterm(number: int, frame: FrameType | None) -> None:
        raise TerminationSignal

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, handle_sigterm)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def explain_resume(kept: Callable[[], str | None], *arguments: str, allow: Sequence[str] = ()) -> Iterator[None]:
    """Print what is saved and the resume command if Ctrl-C, SIGTERM or an error ends the block.

    The resume command is gymposium with these arguments, and `--allow` for the names in `allow`. `kept` describes what
    is saved, or returns None if nothing is. A `GymposiumError` is then printed alone, because its message explains the
    fix. If a player rejects the game (`GameRefused`), resuming would fail again, so the resume command is omitted."""
    try:
        with raise_on_sigterm():
            yield
    except KeyboardInterrupt as stop:
        _note_command(f"Stopped. {kept() or _NOTHING}", arguments, allow)
        raise typer.Exit(get_exit_code(stop)) from None
    except GameRefused:
        if recorded := kept():
            print_note(recorded)
        raise
    except Exception as error:
        if (recorded := kept()) or not isinstance(error, GymposiumError):
            _note_command(recorded or _NOTHING, arguments, allow)
        raise


def _note_command(kept: str, arguments: Sequence[str], allow: Sequence[str]) -> None:
    print_note(f"{kept} Resume with:")
    print_note(f"  {format_command_line(*arguments, allow=allow)}")


def list_names_to_allow(games: Iterable[str], players: Iterable[str]) -> list[str]:
    """Return the names in a run's settings that need the user's permission."""
    return [
        *(name for name in dict.fromkeys(games) if is_allowed(name) or _is_refused(check_named_game, name)),
        *(name for name in dict.fromkeys(players) if is_allowed(name) or _is_refused(check_named_player, name)),
    ]


def check_settings(games: Iterable[str], players: Iterable[str]) -> None:
    """Raise `PermissionRequired` for names in a run's settings that need permission, because anyone may have written
    the file."""
    for game in games:
        check_named_game(game)
    for player in players:
        check_named_player(player)


def _is_refused(check: Callable[[str], None], name: str) -> bool:
    try:
        check(name)
    except PermissionRequired:
        return True
    return False


def is_default(ctx: typer.Context, name: str) -> bool:
    """Return whether a parameter has its default: it was set neither on the command line nor in the user's file."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "DEFAULT"


def list_given_options(ctx: typer.Context) -> dict[str, str]:
    """Return how the user spelled each parameter on the command line, by parameter name."""
    typed = [
        parameter
        for parameter in ctx.command.params
        if (source := ctx.get_parameter_source(parameter.name or "")) is not None and source.name == "COMMANDLINE"
    ]
    return {parameter.name or "": get_spelling(ctx, parameter) for parameter in typed}


def reject_unused(ctx: typer.Context, names: Collection[str], where: str) -> None:
    """Raise `BadOption` if one of these parameters was given on the command line.

    `where` says where they have no effect: `without --search`."""
    if unused := [spelling for name, spelling in list_given_options(ctx).items() if name in names]:
        verb, them = ("has", "it") if len(unused) == 1 else ("have", "them")
        raise BadOption(f"{', '.join(unused)} {verb} no effect {where}. Remove {them}.")


def reject_other_options(ctx: typer.Context, name: str, free: Collection[str] = ()) -> None:
    """Raise `BadOption` if parameters other than this one and those in `free` were given."""
    given = list_given_options(ctx)
    unused = [other for other in given if other not in {name, "as_json", *free}]
    reject_unused(ctx, unused, f"with {given.get(name, name)}")


def reject_options_beside_resume(ctx: typer.Context, free: Collection[str] = ()) -> None:
    """Raise `BadOption` if `--resume` is combined with parameters that are not in `free`. A run keeps its settings."""
    given = list_given_options(ctx)
    if beside := [given[name] for name in given if name not in {"resume", "as_json", *free}]:
        raise BadOption(f"--resume uses the run's own settings. Remove {', '.join(beside)}.")
