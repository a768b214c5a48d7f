"""The command `gymposium plugins`, with one module for each of its verbs."""

from __future__ import annotations

import typer

from gymposium.cli.plugins.check import check_plugins
from gymposium.cli.plugins.list import list_plugins
from gymposium.cli.plugins.new import new_plugin

command = typer.Typer(
    add_completion=False, no_args_is_help=True, rich_markup_mode="rich", help="List, check and write plugins."
)
command.command("list")(list_plugins)
command.command("new")(new_plugin)
command.command("check")(check_plugins)


@command.callback()
def _group() -> None:
    """List, check and write plugins."""
