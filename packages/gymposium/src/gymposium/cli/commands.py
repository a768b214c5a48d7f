"""Commands made from the objects at the entry points of their specs."""

from __future__ import annotations

from typing import Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

from gymposium.cli.usage import parse_strictly


def make_command(target: Any, name: str) -> TyperCommand | TyperGroup:
    """Return the command of this name. `target`, the object at its entry point, is a Typer app or a function."""
    app = target
    if not isinstance(target, typer.Typer):
        app = typer.Typer(add_completion=False, rich_markup_mode="rich")
        app.command(name)(target)
    command = cast(TyperCommand | TyperGroup, typer.main.get_command(app))
    command.name = name
    _reflow(command)
    parse_strictly(command)
    return command


def _reflow(command: Any) -> None:
    """Put each paragraph of the help texts on one line, for the terminal to wrap. Paragraphs that are indented, or
    marked with Click's backspace, keep their lines."""
    paragraphs = (command.help or "").split("\n\n")
    command.help = "\n\n".join(
        p.removeprefix("\b\n") if p.startswith((" ", "\b")) else " ".join(p.split()) for p in paragraphs
    )
    for below in getattr(command, "commands", {}).values():
        _reflow(below)
