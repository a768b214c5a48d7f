"""Building Click commands from the entry points in plugin specs."""

from __future__ import annotations

from typing import Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

from gymposium.cli.usage import parse_strictly


def make_command(target: Any, name: str) -> TyperCommand | TyperGroup:
    """Return the command with this name. `target`, the object at its entry point, is a Typer app or a function."""
    app = target
    if not isinstance(target, typer.Typer):
        app = typer.Typer(add_completion=False, rich_markup_mode="rich")
        app.command(name)(target)
    command = cast(TyperCommand | TyperGroup, typer.main.get_command(app))
    command.name = name
    _reflow(command)
    simplify_help(command)
    parse_strictly(command)
    return command


def simplify_help(command: Any) -> None:
    """Hide types, number ranges and final full stops from the parameters' help in a command and its subcommands."""
    get_params = command.get_params  # the help option is made here

    def simplified(context: Any) -> list[Any]:
        params: list[Any] = get_params(context)
        for param in params:
            _simplify_parameter(param, context)
        return params

    command.get_params = simplified
    for below in getattr(command, "commands", {}).values():
        simplify_help(below)


def _simplify_parameter(param: Any, context: Any) -> None:
    """Hide a parameter's type, number range and final full stop from its help."""
    if param.param_type_name == "argument":
        param.display_type_rich = lambda ctx: None
    elif param.is_flag:
        param.metavar = ""
    elif param.metavar is None and "|" not in (kind := str(param.display_type(context)).lower()):
        param.metavar = "N" if "int" in kind or "float" in kind else "PATH" if "path" in kind else "TEXT"
    param._get_number_range_help_str = lambda: ""
    param.help = (param.help or "").rstrip(".")


def _reflow(command: Any) -> None:
    """Join each paragraph of the help texts into one line, so the terminal wraps it.

    Paragraphs that are indented, or marked with Click's `\\b`, keep their line breaks."""
    paragraphs = (command.help or "").split("\n\n")
    command.help = "\n\n".join(
        p.removeprefix("\b\n") if p.startswith((" ", "\b")) else " ".join(p.split()) for p in paragraphs
    )
    for below in getattr(command, "commands", {}).values():
        _reflow(below)
