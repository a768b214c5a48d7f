"""The command `gymposium plugins list`."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer
from rich.table import Column, Table

from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.text import note, out
from gymposium.plugins.crashes import Crashes
from gymposium.plugins.host import Host, host, is_switched_off
from gymposium.plugins.offers import offers
from gymposium.plugins.plugin import Plugin
from gymposium.plugins.trial import Trial, try_apart
from gymposium.util.visible import visible


def list_plugins(
    isolated: Annotated[
        bool,
        typer.Option("--isolated", help="Load each plugin in a separate process."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List each plugin with its distribution and what it adds, or with the reason why it is broken.

    Nothing of a broken plugin is used, and all others work. Environment variables decide what is loaded:
    GYMPOSIUM_PLUGINS=a,b only these, GYMPOSIUM_DISABLE_PLUGINS=a,b all but these, and
    GYMPOSIUM_PLUGINS_STRICT=1 makes a broken plugin an error.

    A plugin that ends the process in which it is loaded is not loaded again until it changes. --isolated tries each
    plugin again in a separate process, and one that loads there is loaded from then on.

    Examples:

        gymposium plugins list
        gymposium plugins list --isolated
        gymposium --plugin my_game.py plugins list
    """
    if isolated:
        listed = _apart()
    else:
        note_complaints()
        listed = [(plugin, plugin.adds()) for plugin in host().plugins]
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
                        "adds": adds,
                    }
                    for plugin, adds in listed
                ]
            }
        )
        return
    headings = ("plugin", "distribution", "version", "status", "adds")
    table = Table(*(Column(heading, overflow="fold") for heading in headings), box=None)
    for plugin, adds in listed:
        if plugin.status == "broken":
            details = visible(plugin.error)
        else:
            details = "\n".join(f"{kind}: {', '.join(names)}" for kind, names in adds.items() if names)
        table.add_row(plugin.name, plugin.distribution or plugin.source, _version(plugin), plugin.status, details)
    out().print(table)


def note_complaints() -> None:
    """Prints the complaints about environment variables and about crashes of earlier processes on stderr."""
    for complaint in host().complaints:
        note(f"warning: {complaint}")


def _apart() -> list[tuple[Plugin, dict[str, list[str]]]]:
    """The built-in plugin and every installed one, tried in a separate process, each with what it adds."""
    listed = [(plugin, plugin.adds()) for plugin in Host(autoload=False).plugins]
    with Crashes() as crashes:
        for offer in offers():
            trial = Trial()
            plugin = Plugin(offer.name, offer.source, offer.distribution, offer.version, error=offer.error)
            if is_switched_off(offer.names):
                plugin.status = "disabled"
            elif not offer.error:
                trial = try_apart(offer)
                plugin.error = crashes.judge(offer, trial.ending) if trial.ending else trial.error
                if not trial.ending:
                    crashes.forget(offer)
            if plugin.error and plugin.status != "disabled":
                plugin.status = "broken"
            listed.append((plugin, trial.adds))
    return listed


def _version(plugin: Plugin) -> str:
    return version("gymposium") if plugin.name == "builtin" else plugin.version
