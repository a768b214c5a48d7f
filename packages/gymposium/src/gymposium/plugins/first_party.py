"""What gymposium's other distributions provide, so an error can name the one to install.

`first_party.json` is generated from their plugins by `tests/workspace/first_party.py`, and a test compares the two.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files

from gymposium.errors import MissingExtra, PluginError, UnknownName
from gymposium.plugins.offers import normalize_name
from gymposium.plugins.plugin import Plugin
from gymposium.plugins.specs import OpponentSpec, Spec

FILE = "first_party.json"


@cache
def list_first_party() -> Mapping[str, Mapping[str, str]]:
    """Return the `pip install` argument for each object, by kind (`Spec.kind`) and by name (`get_written_name`)."""
    table: dict[str, dict[str, str]] = json.loads(files(__package__).joinpath(FILE).read_text(encoding="utf-8-sig"))
    return table


def get_written_name(spec: Spec) -> str:
    """Return the name of a spec's object. For a player, this is the fixed start of its form."""
    return (spec.fixed_part or spec.form) if isinstance(spec, OpponentSpec) else spec.name


def check_first_party(kind: str, name: str, known: Iterable[str], plugins: Iterable[Plugin]) -> None:
    """Raise an error with a fix for a name from another gymposium distribution.

    It is a `PluginError` if the distribution's plugin is in `plugins` but is switched off or broken. Otherwise it is a
    `MissingExtra`. `known` are the names that loaded plugins add, in the form of `get_written_name`."""
    known = {*known}
    missing = {text: install for text, install in list_first_party().get(kind, {}).items() if text not in known}
    for text, install in missing.items():
        begins = kind == "player" and text.endswith((":", "-")) and name.startswith(text)
        if begins or name == text:
            distribution = _strip_extras(install)
            found = next((one for one in plugins if normalize_name(one.distribution) == distribution), None)
            if found is not None and found.status != "active":
                raise PluginError(f"The {kind} {text!r} comes from {distribution}, {_explain_missing(found)}")
            raise MissingExtra(f"The {kind} {text!r}", install)


def make_unknown_name(kind: str, name: str, known: Iterable[str], plugins: Iterable[Plugin]) -> UnknownName:
    """Return the error for an unknown name. Similar names include those in distributions that are not installed.

    The error lists third-party plugins that are switched off or broken, and says how to load a plugin file, because
    either may add the name. Raises the same errors as `check_first_party`."""
    known, plugins = {*known}, list(plugins)
    check_first_party(kind, name, known, plugins)
    return UnknownName(kind, name, known.union(list_first_party().get(kind, {})), remark=remark_on_missing(plugins))


def remark_on_missing(plugins: Iterable[Plugin]) -> str:
    """Return how to load a plugin file, and a sentence for each third-party plugin that is switched off or broken.

    Each of them may add any name."""
    ours = {_strip_extras(install) for kind in list_first_party().values() for install in kind.values()}
    others = [one for one in plugins if one.status != "active" and normalize_name(one.distribution) not in ours]
    missing = [f"A plugin that may add it is missing: {one.name}, {_explain_missing(one)}" for one in others]
    return " ".join([*missing, "If a plugin file adds it, load that file:  gymposium --plugin FILE …"])


def _strip_extras(install: str) -> str:
    """Return the distribution name in a `pip install` argument."""
    return normalize_name(install.strip('"').partition("[")[0])


def _explain_missing(plugin: Plugin) -> str:
    """Return the end of a sentence that says why a plugin adds nothing, with the fix."""
    if plugin.status == "disabled":
        return (
            "which is switched off. Switch it on: leave out --no-plugins, and change or unset the environment "
            "variables GYMPOSIUM_PLUGINS and GYMPOSIUM_DISABLE_PLUGINS."
        )
    return f"whose plugin is broken: {plugin.error.rstrip('.')}. Correct it, or install a version that works."
