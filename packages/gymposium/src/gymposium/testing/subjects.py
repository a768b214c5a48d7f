"""From what an author writes to what is checked: specs, and the games that their examples make."""

from __future__ import annotations

from collections.abc import Iterable

from gymposium.errors import BadOption, PluginError, UnknownName
from gymposium.games.names import parse_name
from gymposium.games.protocol import Game
from gymposium.games.registry import find_spec, load_game
from gymposium.plugins.host import Plugin, host
from gymposium.plugins.specs import GameSpec
from gymposium.testing.registry import Subject


def subjects_of(spec: GameSpec) -> list[Subject]:
    """The spec, and each of its examples as a game."""
    return [Subject(spec), *(Subject(load_game(spec.name, **example)) for example in spec.examples)]


def named_subjects(name: str) -> list[Subject]:
    """What a name stands for: a plugin or distribution (all its games), a game (its spec and its examples), or a
    game with parameters, `nim(sticks=7)`, or of OpenSpiel, `openspiel:nim` (that one alone).

    Raises `UnknownName` with the nearest names, `PluginError` where the plugin is broken, `BadOption` where it
    offers no game."""
    plugin = next((p for p in host().plugins if name in (p.name, p.distribution)), None)
    if name in host().games:
        return subjects_of(host().games[name])
    if plugin is not None:
        return [subject for spec in _games_of(plugin) for subject in subjects_of(spec)]
    base, params = parse_name(name)
    if params or base.startswith("openspiel:"):
        return [Subject(load_game(name))]
    try:
        find_spec(base)
    except UnknownName:
        known = {*host().games, *(p.name for p in host().plugins)}
        raise UnknownName("game or plugin", name, known) from None
    raise AssertionError("a game that is found is among the host's games")


def named_games(names: Iterable[str]) -> list[Game]:
    """The games among what the names stand for."""
    return [s.of for name in names for s in named_subjects(name) if not isinstance(s.of, GameSpec)]


def installed_names() -> list[str]:
    """The plugins to check where none is named: those that were loaded from files; where none was, all that are
    installed and offer games, and those that are broken. gymposium's own games are left out."""
    others = [plugin for plugin in host().plugins if plugin.name != "builtin" and plugin.status != "disabled"]
    files = [plugin for plugin in others if plugin.source.endswith(".py")]
    return [plugin.name for plugin in files or others if plugin.status == "broken" or _has_games(plugin)]


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
