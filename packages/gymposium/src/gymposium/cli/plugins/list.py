"""The command `gymposium plugins list`."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer
from rich.table import Column, Table

from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.text import print_note, stdout_console
from gymposium.plugins.host import Host, host, is_switched_off
from gymposium.plugins.offers import list_offers
from gymposium.plugins.plugin import Plugin
from gymposium.plugins.trial import Trial, run_trial
from gymposium.util.visible import visible


def list_plugins(
    isolated: Annotated[
        bool,
        typer.Option("--isolated", help="Load each plugin in a separate process"),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List each plugin with its distribution and what it adds, or why it is broken.

    Broken plugins are skipped; the others work. Environment variables select plugins. GYMPOSIUM_PLUGINS=a,b loads only
    a and b, and GYMPOSIUM_DISABLE_PLUGINS=a,b loads all others. GYMPOSIUM_PLUGINS_STRICT=1 makes a broken plugin an
    error.

    If a command ends without a message, a plugin may have crashed it. --isolated finds the plugin by trying each one in
    a separate process.

    Examples:

        gymposium plugins list
        gymposium plugins list --isolated
        gymposium --plugin my_game.py plugins list
    """
    if isolated:
        listed = _try_separately()
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
                        "version": _get_version(plugin) or None,
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
        table.add_row(plugin.name, plugin.distribution or plugin.source, _get_version(plugin), plugin.status, details)
    stdout_console().print(table)


def note_complaints() -> None:
    """Print the complaints about environment variables on stderr."""
    for complaint in host().complaints:
        print_note(f"warning: {complaint}")


def _try_separately() -> list[tuple[Plugin, dict[str, list[str]]]]:
    """Load the built-in and installed plugins in separate processes, and return each with what it adds."""
    listed = [(plugin, plugin.adds()) for plugin in Host(autoload=False).plugins]
    for offer in list_offers():
        trial = Trial()
        plugin = Plugin(offer.name, offer.source, offer.distribution, offer.version, error=offer.error)
        if is_switched_off(offer.names):
            plugin.status = "disabled"
        elif not offer.error:
            trial = run_trial(offer)
            plugin.error = f"it ended the process that loaded it ({trial.ending})" if trial.ending else trial.error
        if plugin.error and plugin.status != "disabled":
            plugin.status = "broken"
        listed.append((plugin, trial.adds))
    return listed


def _get_version(plugin: Plugin) -> str:
    return version("gymposium") if plugin.name == "builtin" else plugin.version
