"""Find subjects to check: game specs, and every example of a game, player, reward, logger or executor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import cast

import pyspiel

from gymposium.errors import BadOption, PluginError, UnknownName
from gymposium.games.protocol import Game
from gymposium.games.registry import load_game
from gymposium.plugins.first_party import check_first_party, get_written_name
from gymposium.plugins.host import host
from gymposium.plugins.names import parse_name
from gymposium.plugins.plugin import Plugin
from gymposium.plugins.specs import ExecutorSpec, GameSpec, LoggerSpec, OpponentSpec, RewardSpec, Spec
from gymposium_testing.parts import PartSpec, PluginPart, make_parts
from gymposium_testing.registry import Kind, Subject

_KINDS: Mapping[type[Spec], Kind] = {
    OpponentSpec: "player",
    RewardSpec: "reward",
    LoggerSpec: "logger",
    ExecutorSpec: "executor",
}


def list_subjects(spec: Spec) -> list[Subject]:
    """Return a spec's subjects: each of its examples and, for a game, the spec itself."""
    if isinstance(spec, GameSpec):
        return [
            Subject(spec.name, "spec", lambda: spec),
            *(
                Subject(spec.full_name(spec.check_params(example)), "game", partial(load_game, spec.name, **example))
                for example in spec.examples
            ),
        ]
    if not isinstance(spec, PartSpec):
        return []
    return [_make_subject(part, _KINDS[type(spec)]) for part in make_parts(spec)]


def _make_subject(part: PluginPart, kind: Kind) -> Subject:
    return Subject(part.name, kind, lambda: part)


def find_subjects(name: str) -> list[Subject]:
    """Return the subjects for a name.

    The name may be a plugin or its distribution (all its parts), a game (its spec and examples), or a player, reward,
    logger or executor. A game with parameters (`nim(sticks=7)`) or from OpenSpiel (`openspiel:nim`) gives just that
    game.

    Raises `UnknownName` with the nearest names, `PluginError` if the plugin is broken, and `BadOption` if there is
    nothing to check or for `gym:ID`."""
    plugins = host()
    plugin = next((p for p in plugins.plugins if name in (p.name, p.distribution)), None)
    game = plugins.games.get(name)
    if plugin is not None and (game is None or game in plugin.specs):
        return list_plugin_subjects(plugin)
    if game is not None:
        return list_subjects(game)
    others: Mapping[str, Spec] = {**plugins.executors, **plugins.loggers, **plugins.rewards, **plugins.opponents}
    if name in others:
        return list_subjects(others[name])
    base, params = parse_name(name)
    if base.startswith("gym:"):
        raise BadOption(f"{name}: the kit checks games. Use gymnasium.utils.env_checker for Gymnasium environments.")
    # loading an OpenSpiel name without its prefix fails with an error that says so
    if not params and not base.startswith("openspiel:") and base not in pyspiel.registered_names():
        for kind in ("game", "player", "reward", "logger", "executor"):
            check_first_party(
                kind, base, map(get_written_name, [*plugins.games.values(), *others.values()]), plugins.plugins
            )
        known = {*plugins.games, *others, *(p.name for p in plugins.plugins)}
        raise UnknownName("game, player, reward, logger, executor or plugin", name, known)
    return [Subject(name, "game", partial(load_game, load_game(name).name))]


def find_games(names: Iterable[str]) -> list[Game]:
    """Return the games among the subjects for these names."""
    subjects = [subject for name in names for subject in find_subjects(name)]
    return [cast(Game, subject.get()) for subject in subjects if subject.kind == "game"]


def list_plugin_subjects(plugin: Plugin) -> list[Subject]:
    """Return a plugin's subjects.

    Raises `PluginError` if it is broken or disabled, and `BadOption` if it has nothing to check."""
    if plugin.status == "broken":
        raise PluginError(
            f"plugin {plugin.name!r} is broken: {str(plugin.error).rstrip('.')}. Fix it, then check again."
        )
    if plugin.status == "disabled":
        raise PluginError(f"plugin {plugin.name!r} is disabled in the environment.")
    subjects = [subject for spec in plugin.specs for subject in list_subjects(spec)]
    if not subjects:
        raise BadOption(f"Plugin {plugin.name!r} adds no game, player, reward, logger or executor to check.")
    return subjects


def list_plugins() -> list[Plugin]:
    """Return the plugins to check by default: those loaded from files, or else all installed plugins.

    Broken plugins are included. Gymposium, disabled plugins and plugins without subjects are not."""
    others = [plugin for plugin in host().plugins if plugin.name != "builtin" and plugin.status != "disabled"]
    files = [plugin for plugin in others if plugin.source.endswith(".py")]
    return [plugin for plugin in files or others if plugin.status == "broken" or any(map(list_subjects, plugin.specs))]


NOTHING_TO_CHECK = (
    "Nothing to check: no installed plugin adds a game, player, reward, logger or executor. Name a game, or "
    "load a file:  gymposium --plugin my_game.py plugins check"
)
