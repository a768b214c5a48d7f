"""The `gymposium` command.

All verbs, even the built-in ones, come from plugins (`gymposium_commands`). Each verb is imported on use, so `gymposium
--help` loads no engine, environment or model.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from gymposium.cli.commands import make_command, simplify_help
from gymposium.cli.defaults import read_defaults
from gymposium.cli.descriptors import check_working_directory, reserve_descriptors
from gymposium.cli.output import convert_output_errors
from gymposium.cli.text import print_error, print_note
from gymposium.cli.usage import convert_usage_errors, make_strict_parser
from gymposium.errors import BadOption, GymposiumError, describe_error
from gymposium.players.asking import get_blame_note
from gymposium.plugins.allowed import allow_names, allow_variables
from gymposium.plugins.first_party import make_unknown_name
from gymposium.plugins.host import disable_plugins, host, is_loaded
from gymposium.util.child_process import guard_children
from gymposium.util.user_file import load_user_file
from gymposium.util.visible import visible


class Verbs(TyperGroup):
    """The group of verbs from plugins. Listing them needs only their specs."""

    def list_commands(self, ctx: Any) -> list[str]:
        specs = sorted(host().commands.values(), key=lambda spec: (spec.order, spec.name))
        return [spec.name for spec in specs if " " not in spec.name]

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | None:
        spec = host().commands.get(cmd_name)
        return None if spec is None else TyperCommand(spec.name, help=spec.summary)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str, Any, list[str]]:
        verb, *rest = args
        if verb == "plugins":  # lists broken plugins itself, and can try each plugin without loading it here
            from gymposium.cli.plugins import command

            return verb, make_command(command, verb), rest
        spec = host().commands.get(verb)
        if spec is not None and verb != "list":  # every other verb, or its plugins, may make an environment by id
            from gymposium.envs.registration import register_envs  # imports Gymnasium and PettingZoo

            register_envs()
        for complaint in host().list_complaints():
            print_note(f"warning: {complaint}")
        if spec is not None:
            made = make_command(host().implementation(spec), verb)
            ctx.default_map = {verb: read_defaults(verb, made, load_user_file(), host().commands)}
            return verb, made, rest
        raise make_unknown_name("command", verb, host().commands, host().plugins)

    def make_parser(self, ctx: Any) -> Any:
        return make_strict_parser(super().make_parser(ctx), self)

    def make_context(self, *args: Any, **options: Any) -> Any:
        with convert_usage_errors():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        try:
            with convert_usage_errors(ctx):
                return super().invoke(ctx)
        except KeyboardInterrupt as stop:  # before a run began, which prints how to resume
            from gymposium.cli.resume import get_exit_code

            print_note("Stopped.")
            raise typer.Exit(get_exit_code(stop)) from None

    def main(self, *args: Any, **options: Any) -> Any:
        try:
            with convert_output_errors():
                return super().main(*args, **options)
        except GymposiumError as error:
            print_error(f"{get_blame_note(error)} {error}".lstrip())
            sys.exit(2)
        except Exception as error:
            if player := get_blame_note(error):  # the traceback follows, for the player's author
                print_error(f"{player} {describe_error(error)}")
            raise


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"gymposium {version('gymposium')}")
        raise typer.Exit


def _load_files(paths: list[Path]) -> list[Path]:
    for path in paths:
        host().load_file(path)
    return paths


def _drop_plugins(context: typer.Context, wanted: bool) -> None:
    if not wanted:
        return
    if context.params.get("plugin"):
        raise BadOption("--no-plugins must come before --plugin FILE.")
    before = host().games if is_loaded() else {}
    after = disable_plugins().games
    if "gymnasium" in sys.modules:
        from gymposium.envs.registration import unregister_envs

        unregister_envs(before[name] for name in before.keys() - after.keys())


app = typer.Typer(cls=Verbs, name="gymposium", no_args_is_help=True, rich_markup_mode="rich")


@app.callback(
    epilog="Each command has its own help with examples: gymposium run --help",
)
def options(
    plugin: Annotated[
        list[Path] | None,
        typer.Option(
            "--plugin",
            metavar="FILE",
            is_eager=True,
            callback=lambda paths: _load_files(paths or []),
            help="Load a plugin from this Python file (repeatable)",
        ),
    ] = None,
    no_plugins: Annotated[
        bool,
        typer.Option(
            "--no-plugins",
            is_eager=True,
            callback=_drop_plugins,
            help="Use only the built-in plugin, like an empty environment variable GYMPOSIUM_PLUGINS",
        ),
    ] = False,
    allow_names: Annotated[
        list[str] | None,
        typer.Option(
            "--allow",
            metavar="NAME",
            is_eager=True,
            callback=lambda names: allow_names(*(names or [])),
            help="Allow files to name this game or player that imports a module, reads a path or asks a server "
            "(repeatable)",
        ),
    ] = None,
    allow_env: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-env",
            metavar="NAME",
            is_eager=True,
            callback=lambda names: allow_variables(*(names or [])),
            help="Allow files to name this environment variable and send its value as a token or key (repeatable)",
        ),
    ] = None,
    show_version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Print the version")
    ] = False,
) -> None:
    """Play text games, compare players, and replay and verify matches."""


def _note_warning(show: Callable[..., None], message: Any, category: type[Warning], *where: Any) -> None:
    """Show a warning from gymposium or a plugin as a note for the user, without the line of code.

    Show any other warning with `show`, Python's own function."""
    plugins = host().plugins if is_loaded() else []  # a warning during loading must not start it again
    packages = {"gymposium", *(plugin.source.partition(".")[0] for plugin in plugins)}
    if category.__module__.partition(".")[0] in packages:
        print_note(f"warning: {message}")
    else:
        show(message, category, *where)


def _show_traceback(*error: Any) -> None:
    """Print an exception like Python, but with control characters made visible.

    Its text may come from a model or a server."""
    print(visible("".join(traceback.format_exception(*error))), end="", file=sys.stderr)


def main() -> None:
    """Run the command with the arguments from the command line."""
    try:
        reserve_descriptors()
        check_working_directory()
    except BadOption as error:
        print_error(str(error))
        sys.exit(2)
    guard_children()
    for library in ("HF_HUB", "HF_DATASETS"):  # including those of transformers
        os.environ.setdefault(f"{library}_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TQDM_DISABLE", "1")
    sys.excepthook = _show_traceback
    warnings.showwarning = partial(_note_warning, warnings.showwarning)
    command = typer.main.get_command(app)
    simplify_help(command)
    command(prog_name="gymposium")


if __name__ == "__main__":
    main()
