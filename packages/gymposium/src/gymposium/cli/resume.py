"""What the verbs share that can be stopped and go on: their options, and the line that goes on."""

from __future__ import annotations

import shlex
import signal
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
from rich.progress import Progress

from gymposium.allowed import is_allowed
from gymposium.cli.matches import match_bar, telling_of
from gymposium.cli.text import note
from gymposium.errors import BadOption, GymposiumError, NotAllowed
from gymposium.games.registry import check_named_game
from gymposium.players.grammar import check_named_player
from gymposium.plugins.host import host
from gymposium.runs.folder import RunFolder, RunMatches
from gymposium.seating import MatchPlan

OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="The folder of the run, empty or not there yet; a new one under gymposium-runs/ by default.",
    ),
]
ResumeOption = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Go on with the run in this folder, which was stopped; its settings hold."),
]


_NOTHING = "Nothing is recorded yet."


class Terminated(KeyboardInterrupt):
    """SIGTERM, which is to end a command as Ctrl-C does."""


def exit_code(stop: KeyboardInterrupt) -> int:
    """What a command returns that was stopped so, as shells do."""
    return 128 + (signal.SIGTERM if isinstance(stop, Terminated) else signal.SIGINT)


@contextmanager
def sigterm_raises() -> Iterator[None]:
    """Inside, SIGTERM raises `Terminated`. Beside the main thread, where Python has no signals, nothing changes."""

    def terminated(number: int, frame: FrameType | None) -> None:
        raise Terminated

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, terminated)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def told_how_to_go_on(kept: Callable[[], str | None], *arguments: str, allow: Sequence[str] = ()) -> Iterator[None]:
    """Where Ctrl-C, SIGTERM or an error ends the block, print what is kept and the command that goes on: gymposium with
    these arguments, allowed the names `allow`. `kept` gives None where nothing was done yet: an error of ours, which
    says itself what to do, then stands alone."""
    try:
        with sigterm_raises():
            yield
    except KeyboardInterrupt as stop:
        _tell(f"Stopped. {kept() or _NOTHING}", arguments, allow)
        raise typer.Exit(exit_code(stop)) from None
    except Exception as error:
        if (what := kept()) or not isinstance(error, GymposiumError):
            _tell(what or _NOTHING, arguments, allow)
        raise


@contextmanager
def matches_of(folder: RunFolder, plan: MatchPlan, allow: Sequence[str] = ()) -> Iterator[tuple[RunMatches, Progress]]:
    """The matches of a run, to be played as far as they are missing, and a bar. Whatever ends the block early is told
    with the line that goes on."""
    with (
        RunMatches(folder.matches, plan) as log,
        told_how_to_go_on(partial(log.told, folder.path), folder.command, "--resume", str(folder.path), allow=allow),
        telling_of(log.file),
        match_bar() as bar,
    ):
        yield log, bar


def _tell(kept: str, arguments: Sequence[str], allow: Sequence[str]) -> None:
    note(f"{kept} Go on with:")
    note(f"  {command_line(*arguments, allow=allow)}")


def command_line(*arguments: str, allow: Sequence[str] = ()) -> str:
    """`gymposium` with these arguments, for a shell: with the one-file plugins of this process, and allowed the names
    `allow`."""
    plugins = [part for file in plugin_files() for part in ("--plugin", str(file))]
    allowed = [part for name in allow for part in ("--allow", name)]
    return shlex.join(["gymposium", *plugins, *allowed, *arguments])


def to_allow(games: Iterable[str], players: Iterable[str]) -> list[str]:
    """Those of the names that a run's settings may hold only where the user allows them."""
    return [
        *(name for name in dict.fromkeys(games) if is_allowed(name) or _is_refused(check_named_game, name)),
        *(name for name in dict.fromkeys(players) if is_allowed(name) or _is_refused(check_named_player, name)),
    ]


def check_settings(games: Iterable[str], players: Iterable[str]) -> None:
    """A run's settings are a file, perhaps somebody else's: raises `NotAllowed` for names that no file may hold."""
    for game in games:
        check_named_game(game)
    for player in players:
        check_named_player(player)


def _is_refused(check: Callable[[str], None], name: str) -> bool:
    try:
        check(name)
    except NotAllowed:
        return True
    return False


def plugin_files() -> list[Path]:
    """The one-file plugins of this process."""
    return [Path(plugin.source) for plugin in host().plugins if plugin.source.endswith(".py")]


def given_options(ctx: typer.Context) -> dict[str, str]:
    """The parameters that were given on the command line: how each is written there, by its name."""
    found = {}
    for parameter in ctx.command.params:
        source = ctx.get_parameter_source(parameter.name or "")
        if source is not None and source.name == "COMMANDLINE":
            is_option = parameter.param_type_name == "option"
            found[parameter.name or ""] = parameter.opts[0] if is_option else getattr(parameter, "metavar", "")
    return found


def refuse_beside_resume(ctx: typer.Context, free: Collection[str] = ()) -> None:
    """A run that goes on keeps its settings, but for the parameters that are `free`. Raises `BadOption` for others that
    are given anew."""
    given = given_options(ctx)
    if beside := [given[name] for name in given if name not in {"resume", "as_json", *free}]:
        raise BadOption(f"--resume goes on with the run's own settings; leave out {', '.join(beside)}.")
