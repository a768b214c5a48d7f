"""The command `gymposium plugins`, with one module per verb. Plugins add verbs named `plugins VERB`."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from gymposium.cli.commands import make_command
from gymposium.cli.plugins.list import list_plugins
from gymposium.cli.plugins.new import new_plugin
from gymposium.plugins.first_party import check_first_party
from gymposium.plugins.host import host

_PREFIX = "plugins "


class PluginVerbs(TyperGroup):
    """The verbs `list` and `new`, and those that plugins add."""

    def list_commands(self, ctx: Any) -> list[str]:
        added = [name.removeprefix(_PREFIX) for name in host().commands if name.startswith(_PREFIX)]
        return [*super().list_commands(ctx), *added]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if (own := super().get_command(ctx, cmd_name)) is not None:
            return own
        name = f"{_PREFIX}{cmd_name}"
        if (spec := host().commands.get(name)) is None:
            check_first_party("command", name, host().commands, host().plugins)
            return None
        return make_command(host().implementation(spec), cmd_name)


command = typer.Typer(
    cls=PluginVerbs,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="List, check and write plugins.",
)
command.command("list")(list_plugins)
command.command("new")(new_plugin)


@command.callback()
def _group() -> None:
    """List, check and write plugins."""
