"""The plugin host: finds plugins, keeps all or none of each one's specs, and lists the broken ones.

Pluggy checks the hooks; the loop around it is ours, because pluggy's own loader stops at the first plugin
that fails. Switches, read from the environment so that they act before anything is imported and reach worker
processes too:

- `GYMPOSIUM_PLUGINS=a,b`           load only these (entry-point or distribution names; empty: none)
- `GYMPOSIUM_DISABLE_PLUGINS=a,b`   load all but these
- `GYMPOSIUM_PLUGINS_STRICT=1`      a broken plugin is an error, for CI
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.metadata import EntryPoint, distributions
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import pluggy

from gymposium.errors import GymposiumError, PluginError, UnknownName
from gymposium.plugins import builtin, hookspecs
from gymposium.plugins.hookspecs import API_VERSION, HOOKS, PROJECT
from gymposium.plugins.specs import CommandSpec, GameSpec, LoggerSpec, OpponentSpec, RewardSpec, Spec, resolve

ONLY = "GYMPOSIUM_PLUGINS"
WITHOUT = "GYMPOSIUM_DISABLE_PLUGINS"
STRICT = "GYMPOSIUM_PLUGINS_STRICT"


class PluginWarning(UserWarning):
    """A plugin is broken and was left out, or a switch names one that is not installed."""


@dataclass(eq=False)
class Plugin:
    """What became of one plugin."""

    name: str
    source: str
    """The entry point or file it came from."""
    distribution: str = ""
    version: str = ""
    status: Literal["active", "disabled", "broken"] = "active"
    error: str = ""
    specs: list[Spec] = field(default_factory=list)


class Host:
    """All plugins of a process and what they add. `plugins` lists every one, broken ones too."""

    def __init__(self, *, autoload: bool = True, strict: bool | None = None) -> None:
        self.strict = os.environ.get(STRICT, "") not in ("", "0") if strict is None else strict
        self.plugins: list[Plugin] = []
        self.complaints: list[str] = []
        """What is wrong with the switches. What is wrong with a plugin stands with the plugin."""
        self.games: dict[str, GameSpec] = {}
        self.opponents: dict[str, OpponentSpec] = {}
        self.rewards: dict[str, RewardSpec] = {}
        self.loggers: dict[str, LoggerSpec] = {}
        self.commands: dict[str, CommandSpec] = {}
        self._claims: dict[_Claim, str] = {}
        """What is taken, and by whom."""
        self._manager = pluggy.PluginManager(PROJECT)
        self._manager.add_hookspecs(hookspecs)
        self._add(Plugin("builtin", builtin.__name__, "gymposium"), lambda: builtin)
        if autoload:
            self._add_installed()

    def load_file(self, path: str | Path) -> Plugin:
        """Load a one-file plugin, as `--plugin my_game.py` does. The file's own folder is not searched
        for other modules; its entry points name the file's stem as their module. Raises `PluginError`
        and keeps nothing where the file is broken."""
        path = Path(path).resolve()
        plugin = Plugin(path.stem, str(path))
        before = sys.modules.get(path.stem)
        try:
            self._load(plugin, lambda: _import_file(path))
        except (Exception, SystemExit) as error:  # whatever a stranger's file may raise
            if before is None:
                sys.modules.pop(path.stem, None)  # so that it can be loaded again when it is mended
            raise PluginError(f"{path}: {_in_words(error)}") from error
        self.plugins.append(plugin)
        return plugin

    def game(self, name: str) -> GameSpec:
        """The game's spec, or `UnknownName` with the nearest names."""
        try:
            return self.games[name]
        except KeyError:
            raise UnknownName("game", name, self.games) from None

    def make_game(self, name: str, params: Mapping[str, Any]) -> Any:
        """The `Game` of this name with these parameters. Raises `UnknownName`, `BadParameter`, and
        `PluginError` where its implementation cannot be imported."""
        spec = self.game(name)
        return self.implementation(spec)(spec, spec.check_params(params))

    def implementation(self, spec: Spec) -> Any:
        """What a spec's entry point names, imported. Raises `PluginError` with the plugin and the reason."""
        return self._imported(spec, spec.entry_point)

    def owner(self, spec: Spec) -> Plugin:
        """The plugin that a spec came from; one called unknown where no plugin has yielded it."""
        found = (plugin for plugin in self.plugins if any(one is spec for one in plugin.specs))
        return next(found, Plugin("unknown", "unknown"))

    def settings(self, spec: LoggerSpec) -> Any:
        """The dataclass of a logger's settings, imported. Raises `PluginError` with the plugin and the reason."""
        return self._imported(spec, spec.settings)

    def _imported(self, spec: Spec, entry_point: str) -> Any:
        try:
            return resolve(entry_point)
        except GymposiumError:  # a missing extra, for one, says itself what to do
            raise
        except Exception as error:  # whatever a stranger's import may raise
            raise PluginError(
                f"Plugin {self.owner(spec).name!r}: its {_KINDS[type(spec)]} {spec.name!r} could not be loaded from "
                f"{entry_point}: {_in_words(error)}"
            ) from error

    def all_complaints(self) -> list[str]:
        """One line for each broken plugin and for each switch that names nobody."""
        broken = [_complaint(plugin) for plugin in self.plugins if plugin.status == "broken"]
        return [*broken, *self.complaints]

    def _add_installed(self) -> None:
        for entry_point in sorted(_installed(), key=lambda e: (e.name, e.value)):
            plugin = Plugin(entry_point.name, entry_point.value)
            self._add(plugin, partial(_load_entry_point, entry_point, plugin))
        known = {_canonical(name) for p in self.plugins for name in (p.name, p.distribution) if name}
        for name in _listed(ONLY) or ():
            if _canonical(name) not in known:
                import difflib

                near = difflib.get_close_matches(_canonical(name), sorted(known), n=1, cutoff=0.5)
                hint = f" Did you mean {near[0]!r}?" if near else ""
                complaint = f"{ONLY} names {name!r}, but no such plugin is installed.{hint}"
                if self.strict:
                    raise PluginError(complaint)
                self.complaints.append(complaint)

    def _add(self, plugin: Plugin, load: Callable[[], Any]) -> None:
        """Register one plugin whole, or note why not and keep nothing of it."""
        try:
            self._load(plugin, load)
        except _SwitchedOff:
            plugin.status = "disabled"
        except (Exception, SystemExit) as error:  # whatever a stranger's import or hook may raise
            plugin.status, plugin.error = "broken", _in_words(error)
            if self.strict:
                raise PluginError(_complaint(plugin)) from error
        self.plugins.append(plugin)

    def _load(self, plugin: Plugin, load: Callable[[], Any]) -> None:
        module = load()
        if any(p.name == plugin.name and p.status == "active" for p in self.plugins):
            raise PluginError(f"another plugin is already called {plugin.name!r}")
        api = getattr(module, "GYMPOSIUM_API", API_VERSION)
        if api != API_VERSION:
            raise PluginError(f"written for plugin API {api}, but this gymposium has {API_VERSION}")
        self._manager.register(module, name=plugin.name)  # checks the arguments of each hook
        try:
            plugin.specs, claims = self._collect(module, plugin.name)
        except BaseException:
            self._manager.unregister(name=plugin.name)
            raise
        self._claims |= claims
        for spec in plugin.specs:
            self._table(spec)[spec.name] = spec

    def _collect(self, module: Any, owner: str) -> tuple[list[Spec], dict[_Claim, str]]:
        """All specs of a plugin, each checked, and what they claim; none is entered anywhere yet."""
        specs: list[Spec] = []
        claims: dict[_Claim, str] = {}
        implemented = False
        for hook, function in self._hooks(module):
            implemented = True
            kind, yielded = HOOKS[hook], function()
            if isinstance(yielded, str | bytes) or not hasattr(yielded, "__iter__"):
                raise PluginError(f"{hook} returned {yielded!r}; it must yield {kind.__name__}")
            for spec in yielded:
                if not isinstance(spec, kind):
                    raise PluginError(f"{hook} must yield {kind.__name__}, not {spec!r}")
                for claim, in_words in _claimed(spec):
                    if claim in claims:
                        raise PluginError(f"{hook} yields {in_words}, which this plugin has already")
                    if claim in self._claims:
                        raise PluginError(f"{hook} yields {in_words}, which {self._claims[claim]} has already")
                    claims[claim] = f"{spec.name!r} of {owner}" if claim[0] is None else owner
                specs.append(spec)
        if not implemented:
            raise PluginError("implements no hook; is @hookimpl missing?")
        return specs, claims

    def _hooks(self, module: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
        """The hooks that a plugin implements, by their names in `HOOKS`."""
        for caller in self._manager.get_hookcallers(module) or ():  # pluggy has looked the module through already
            for hook in caller.get_hookimpls():
                if hook.plugin is not module:
                    continue
                if hook.wrapper or hook.hookwrapper:
                    raise PluginError(f"{caller.name} is a wrapper; gymposium's hooks only yield specs")
                if caller.name in HOOKS:
                    yield caller.name, hook.function
                elif not hook.optionalhook:  # pluggy's own mark for "where the host has it"
                    raise UnknownName("hook", caller.name, HOOKS)

    def _table(self, spec: Spec) -> dict[str, Any]:
        tables: dict[type[Spec], dict[str, Any]] = {
            GameSpec: self.games,
            OpponentSpec: self.opponents,
            RewardSpec: self.rewards,
            LoggerSpec: self.loggers,
            CommandSpec: self.commands,
        }
        return tables[type(spec)]


_Claim = tuple[type[Spec] | None, str]


def _claimed(spec: Spec) -> Iterator[tuple[_Claim, str]]:
    """What only one spec may have, with words for it: its name among its kind, and a game's env id."""
    yield (type(spec), spec.name), repr(spec.name)
    if isinstance(spec, GameSpec):
        yield (None, spec.env_id), f"{spec.name!r} with the id {spec.env_id}"


_KINDS: dict[type[Spec], str] = {
    GameSpec: "game",
    OpponentSpec: "player",
    RewardSpec: "reward",
    LoggerSpec: "logger",
    CommandSpec: "command",
}


def _complaint(plugin: Plugin) -> str:
    return (
        f"gymposium plugin {plugin.name!r} ({plugin.source}) is broken and was left out: {plugin.error} "
        f"({WITHOUT}={plugin.name} silences this)"
    )


class _SwitchedOff(Exception):
    """The environment says that this plugin is not to be loaded."""


def _installed() -> Iterator[EntryPoint]:
    """The entry points of our group; of a distribution that is there twice, those that come first on the path.
    `importlib.metadata.entry_points()` parses what every distribution has to offer, at half as much time again, and
    every `import gymposium` would spend it."""
    seen: set[str] = set()
    for distribution in distributions():
        if f"[{PROJECT}]" not in (distribution.read_text("entry_points.txt") or ""):
            continue
        name = _canonical(distribution.metadata["Name"] or "")
        if not name or name not in seen:
            seen.add(name)
            yield from distribution.entry_points.select(group=PROJECT)


def _load_entry_point(entry_point: EntryPoint, plugin: Plugin) -> Any:
    """Import what an entry point names, unless it is switched off. A distribution whose metadata cannot
    be read counts as broken, like one whose module cannot be imported."""
    if entry_point.dist is not None:
        about = entry_point.dist.metadata  # read once: each of `name` and `version` would parse it again
        plugin.distribution, plugin.version = about["Name"], about["Version"]
    names = {_canonical(plugin.name), _canonical(plugin.distribution)}
    only, without = _listed(ONLY), _listed(WITHOUT) or []
    if (only is not None and names.isdisjoint(map(_canonical, only))) or not names.isdisjoint(map(_canonical, without)):
        raise _SwitchedOff
    return entry_point.load()


def _listed(variable: str) -> list[str] | None:
    """The names in an environment variable; None where it is not set."""
    value = os.environ.get(variable)
    return None if value is None else [name.strip() for name in value.split(",") if name.strip()]


def _canonical(name: str) -> str:
    """Distribution names compare as pip compares them: `gymposium_2048` is `gymposium-2048`."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _in_words(error: BaseException) -> str:
    """One line; our own errors speak for themselves."""
    if isinstance(error, SystemExit):
        return f"it ended the program (SystemExit: {error})"
    text = " ".join(str(error).split())
    return text if isinstance(error, GymposiumError) else f"{type(error).__name__}: {text}"


def _import_file(path: Path) -> ModuleType:
    name = path.stem
    if not path.exists():
        raise PluginError("there is no such file")
    if not path.is_file() or path.suffix != ".py":
        raise PluginError("not a Python file")
    if not name.isidentifier():
        raise PluginError(f"{name!r} cannot be a module's name; use letters, digits and underscores")
    if name in sys.modules or _installed_elsewhere(name, path):
        raise PluginError(f"another module is called {name!r}; rename the file")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None, "a .py file has a loader"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # entry points such as "my_game:MyGame" are looked up there
    spec.loader.exec_module(module)
    return module


def _installed_elsewhere(name: str, path: Path) -> bool:
    spec = importlib.util.find_spec(name)
    return spec is not None and (spec.origin is None or Path(spec.origin).resolve() != path)


@cache
def host() -> Host:
    """The process's host, made on first use."""
    return Host()


def without_plugins() -> Host:
    """Make the process's host again with nothing but what is built in; worker processes do the same."""
    os.environ[ONLY] = ""
    host.cache_clear()
    return host()
