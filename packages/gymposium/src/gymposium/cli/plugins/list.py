"""The command `gymposium plugins list`."""

from __future__ import annotations

from importlib.metadata import version
from os.path import realpath
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Column, Table

from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.text import make_stdout_console, print_note
from gymposium.plugins.host import Host, host, is_switched_off
from gymposium.plugins.offers import list_offers, normalize_name
from gymposium.plugins.plugin import Plugin
from gymposium.plugins.trial import Trial, run_trial
from gymposium.util.child_process import list_plugin_files
from gymposium.util.user_file import load_user_file
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
    make_stdout_console().print(table)


def note_complaints() -> None:
    """Print the complaints about environment variables on stderr."""
    for complaint in host().complaints:
        print_note(f"warning: {complaint}")


def _try_separately() -> list[tuple[Plugin, dict[str, list[str]]]]:
    """Load all plugins but the built-in one in separate processes, and return each with what it adds."""
    listed = [(plugin, plugin.adds()) for plugin in Host(autoload=False).plugins]
    for offer in list_offers():
        plugin = Plugin(offer.name, offer.source, offer.distribution, offer.version, error=offer.error)
        listed.append((plugin, _try_plugin(plugin, offer.place, is_enabled=not is_switched_off(offer.names))))
    named = [Path(realpath(path)) for path in load_user_file().plugins]
    enabled = {path: not is_switched_off({normalize_name(path.stem)}) for path in named}
    for path, is_enabled in (enabled | dict.fromkeys(list_plugin_files(), True)).items():
        plugin = Plugin(path.stem, str(path))
        listed.append((plugin, _try_plugin(plugin, is_enabled=is_enabled)))
    return listed


def _try_plugin(plugin: Plugin, place: str = "", *, is_enabled: bool) -> dict[str, list[str]]:
    """Set the plugin's status and error, and return what it adds. `place` is as in `run_trial`."""
    trial = Trial()
    if not is_enabled:
        plugin.status = "disabled"
        return trial.adds
    if not plugin.error:
        trial = run_trial(plugin, place)
        plugin.error = f"it ended the process that loaded it ({trial.ending})" if trial.ending else trial.error
    if plugin.error:
        plugin.status = "broken"
    return trial.adds


def _get_version(plugin: Plugin) -> str:
    return version("gymposium") if plugin.name == "builtin" else plugin.version
