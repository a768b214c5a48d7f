"""`gymposium plugins list`."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer
from rich.table import Column, Table

from gymposium.cli.text import out, print_json
from gymposium.plugins.host import Plugin, host
from gymposium.plugins.specs import CommandSpec, GameSpec, LoggerSpec, OpponentSpec, RewardSpec, Spec
from gymposium.visible import visible

_KINDS: dict[str, type[Spec]] = {
    "games": GameSpec,
    "players": OpponentSpec,
    "rewards": RewardSpec,
    "loggers": LoggerSpec,
    "commands": CommandSpec,
}


def list_plugins(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Each plugin with its distribution, what it adds, and the reason where it is broken.

    A broken plugin is left out whole and harms nothing else. The environment decides what is loaded:
    GYMPOSIUM_PLUGINS=a,b only these, GYMPOSIUM_DISABLE_PLUGINS=a,b all but these, and
    GYMPOSIUM_PLUGINS_STRICT=1 makes a broken plugin an error.

    Examples:

        gymposium plugins list
        gymposium --plugin my_game.py plugins list
    """
    plugins = host().plugins
    if as_json:
        print_json(
            {
                "plugins": [
                    {
                        "name": plugin.name,
                        "distribution": plugin.distribution or None,
                        "version": _version(plugin) or None,
                        "source": plugin.source,
                        "status": plugin.status,
                        "error": plugin.error or None,
                        "adds": _adds(plugin),
                    }
                    for plugin in plugins
                ]
            }
        )
        return
    headings = ("plugin", "distribution", "version", "status", "adds")
    table = Table(*(Column(heading, overflow="fold") for heading in headings), box=None)
    for plugin in plugins:
        if plugin.status == "broken":
            adds = visible(plugin.error)
        else:
            adds = "\n".join(f"{kind}: {', '.join(names)}" for kind, names in _adds(plugin).items() if names)
        table.add_row(plugin.name, plugin.distribution or plugin.source, _version(plugin), plugin.status, adds)
    out().print(table)


def _version(plugin: Plugin) -> str:
    return version("gymposium") if plugin.name == "builtin" else plugin.version


def _adds(plugin: Plugin) -> dict[str, list[str]]:
    """The names that it adds, by kind; players and rewards by the form in which they are written."""
    return {
        label: [
            s.form if isinstance(s, OpponentSpec | RewardSpec) else s.name for s in plugin.specs if isinstance(s, kind)
        ]
        for label, kind in _KINDS.items()
    }
