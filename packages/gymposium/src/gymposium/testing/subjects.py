"""From what an author writes to what is checked: specs, and the games that their examples make."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from gymposium.errors import BadOption, PluginError, UnknownName
from gymposium.games.protocol import Game
from gymposium.games.registry import load_game
from gymposium.plugins.host import Plugin, host
from gymposium.plugins.names import parse_name
from gymposium.plugins.specs import GameSpec
from gymposium.testing.registry import Subject


def subjects_of(spec: GameSpec) -> list[Subject]:
    """The spec, and each of its examples as a game."""
    games = [
        Subject(spec.full_name(spec.check_params(example)), False, partial(load_game, spec.name, **example))
        for example in spec.examples
    ]
    return [Subject(spec.name, True, lambda: spec), *games]


def named_subjects(name: str) -> list[Subject]:
    """What a name stands for: a game (its spec and its examples); a plugin, by its own name or its distribution's
    (all its games); or a game with parameters, `nim(sticks=7)`, or of OpenSpiel, `openspiel:nim` (that one alone).

    Raises `UnknownName` with the nearest names, `PluginError` where the plugin is broken, `BadOption` where it
    offers no game, and for `gym:ID`, which has no author of a game to tell."""
    if name in host().games:
        return subjects_of(host().games[name])
    plugin = next((p for p in host().plugins if name in (p.name, p.distribution)), None)
    if plugin is not None:
        return plugin_subjects(plugin)
    base, params = parse_name(name)
    if base.startswith("gym:"):
        raise BadOption(f"{name}: the kit is for games; Gymnasium has its own checks, gymnasium.utils.env_checker.")
    if not params and not base.startswith("openspiel:") and not _only_openspiel_has(base):
        raise UnknownName("game or plugin", name, {*host().games, *(p.name for p in host().plugins)})
    return [Subject(name, False, partial(load_game, load_game(name).name))]


def _only_openspiel_has(name: str) -> bool:
    """Whether the name wants `openspiel:` before it; loading it then says so."""
    import pyspiel

    return name in pyspiel.registered_names()


def named_games(names: Iterable[str]) -> list[Game]:
    """The games among what the names stand for."""
    found = [subject.get() for name in names for subject in named_subjects(name)]
    return [one for one in found if not isinstance(one, GameSpec)]


def plugin_subjects(plugin: Plugin) -> list[Subject]:
    """All games of a plugin. Raises `PluginError` where it is broken, `BadOption` where it offers none."""
    return [subject for spec in _games_of(plugin) for subject in subjects_of(spec)]


def installed_plugins() -> list[Plugin]:
    """The plugins to check where none is named: those that were loaded from files; where none was, all that are
    installed and offer games, and those that are broken. gymposium's own games are left out."""
    others = [plugin for plugin in host().plugins if plugin.name != "builtin" and plugin.status != "disabled"]
    files = [plugin for plugin in others if plugin.source.endswith(".py")]
    return [plugin for plugin in files or others if plugin.status == "broken" or _has_games(plugin)]


NOTHING = (
    "There is nothing to check: no plugin with games is installed. Name a game, or load a file:  "
    "gymposium --plugin my_game.py plugins check"
)


def _has_games(plugin: Plugin) -> bool:
    return any(isinstance(spec, GameSpec) for spec in plugin.specs)


def _games_of(plugin: Plugin) -> list[GameSpec]:
    if plugin.status == "broken":
        raise PluginError(f"plugin {plugin.name!r} is broken: {plugin.error}")
    if plugin.status == "disabled":
        raise PluginError(f"plugin {plugin.name!r} is switched off in the environment.")
    specs = [spec for spec in plugin.specs if isinstance(spec, GameSpec)]
    if not specs:
        raise BadOption(f"Plugin {plugin.name!r} offers no game, so there is nothing to check.")
    return specs
