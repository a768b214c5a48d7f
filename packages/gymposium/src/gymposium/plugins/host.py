"""The plugin host: finds plugins, keeps all or none of each one's specs, and lists the broken ones.

Pluggy checks and calls the hooks; the loop around it is ours, because pluggy's own loader stops at the
first plugin that fails. Switches, read from the environment so that they act before anything is imported:

- `GYMPOSIUM_PLUGINS=a,b`           load only these (entry-point or distribution names; empty: none)
- `GYMPOSIUM_DISABLE_PLUGINS=a,b`   load all but these
- `GYMPOSIUM_PLUGINS_STRICT=1`      a broken plugin is an error, for CI
"""

from __future__ import annotations

import importlib.util
import os
import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import Distribution, EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import pluggy

from gymposium.errors import PluginError, UnknownName
from gymposium.plugins import builtin, hookspecs
from gymposium.plugins.hookspecs import API_VERSION, HOOKS, PROJECT
from gymposium.plugins.specs import CommandSpec, GameSpec, OpponentSpec, Spec


@dataclass(slots=True)
class Plugin:
    """What became of one plugin."""

    name: str
    source: str
    """The entry point or file it came from."""
    status: Literal["active", "disabled", "broken"] = "active"
    error: str = ""
    specs: list[Spec] = field(default_factory=list)
    dist: Distribution | None = None

    @property
    def distribution(self) -> str:
        return self.dist.name if self.dist is not None else ""

    @property
    def version(self) -> str:
        return self.dist.version if self.dist is not None else ""


class Host:
    """All plugins of a process and what they add. `plugins` lists every one, broken ones too."""

    def __init__(self, *, autoload: bool = True, strict: bool | None = None) -> None:
        self.strict = _flag("GYMPOSIUM_PLUGINS_STRICT") if strict is None else strict
        self.plugins: list[Plugin] = []
        self.games: dict[str, GameSpec] = {}
        self.opponents: dict[str, OpponentSpec] = {}
        self.commands: dict[str, CommandSpec] = {}
        self._manager = pluggy.PluginManager(PROJECT)
        self._manager.add_hookspecs(hookspecs)
        self._add(Plugin("builtin", builtin.__name__), lambda: builtin)
        if autoload:
            for entry_point in _found():
                self._add_entry_point(entry_point)

    def load_file(self, path: str | Path) -> Plugin:
        """Load a one-file plugin, as `--plugin my_game.py` does. The file's own folder is not searched
        for other modules; its entry points name the file's stem as their module."""
        path = Path(path).resolve()
        plugin = Plugin(path.stem, str(path))
        self._add(plugin, lambda: _import_file(path))
        if plugin.status == "broken":
            raise PluginError(f"{path}: {plugin.error}")
        return plugin

    def game(self, name: str) -> GameSpec:
        """The game's spec, or `UnknownName` with the nearest names."""
        try:
            return self.games[name]
        except KeyError:
            raise UnknownName("game", name, self.games) from None

    def _add_entry_point(self, entry_point: EntryPoint) -> None:
        plugin = Plugin(entry_point.name, entry_point.value, dist=entry_point.dist)
        if _switched_off(plugin):
            plugin.status = "disabled"
            self.plugins.append(plugin)
            return
        self._add(plugin, entry_point.load)

    def _add(self, plugin: Plugin, load: Any) -> None:
        """Register one plugin whole, or note why not and keep nothing of it."""
        self.plugins.append(plugin)
        try:
            if any(p.name == plugin.name and p.status == "active" for p in self.plugins[:-1]):
                raise PluginError(f"another plugin is already called {plugin.name!r}")
            module = load()
            plugin.specs = self._collect(plugin.name, module)
        except Exception as error:  # whatever a stranger's import or hook may raise
            if self._manager.has_plugin(plugin.name):
                self._manager.unregister(name=plugin.name)
            plugin.status, plugin.error = "broken", f"{type(error).__name__}: {error}"
            if self.strict:
                raise PluginError(f"plugin {plugin.name!r} ({plugin.source}) is broken: {plugin.error}") from error
            warnings.warn(
                f"gymposium plugin {plugin.name!r} is broken and was left out: {plugin.error} "
                f"(set GYMPOSIUM_DISABLE_PLUGINS={plugin.name} to silence this)",
                stacklevel=2,
            )
            return
        for spec in plugin.specs:
            self._table(spec)[spec.name] = spec

    def _collect(self, name: str, module: Any) -> list[Spec]:
        api = getattr(module, "GYMPOSIUM_API", API_VERSION)
        if api != API_VERSION:
            raise PluginError(f"written for plugin API {api}, but this gymposium has {API_VERSION}")
        self._manager.register(module, name=name)  # checks the arguments of each hook
        implemented = [h for h in dir(module) if self._manager.parse_hookimpl_opts(module, h) is not None]
        for hook in implemented:
            if hook not in HOOKS:
                raise UnknownName("hook", hook, HOOKS)
        if not implemented:
            raise PluginError("implements no hook; is @hookimpl missing?")
        specs: list[Spec] = []
        for hook in implemented:
            for spec in getattr(module, hook)():
                if not isinstance(spec, HOOKS[hook]):
                    raise PluginError(f"{hook} must yield {HOOKS[hook].__name__}, not {spec!r}")
                if spec.name in self._table(spec) or any(
                    type(s) is type(spec) and s.name == spec.name for s in specs
                ):
                    raise PluginError(f"{hook} yields {spec.name!r}, which {self.owner(spec)} has already")
                specs.append(spec)
        return specs

    def owner(self, spec: Spec) -> str:
        """The name of the plugin that a spec of this kind and name came from."""
        for plugin in self.plugins:
            if any(type(s) is type(spec) and s.name == spec.name for s in plugin.specs):
                return plugin.name
        return "this plugin"

    def _table(self, spec: Spec) -> dict[str, Any]:
        if isinstance(spec, GameSpec):
            return self.games
        return self.opponents if isinstance(spec, OpponentSpec) else self.commands


def _found() -> Iterable[EntryPoint]:
    return sorted(entry_points(group=PROJECT), key=lambda e: e.name)


def _flag(variable: str) -> bool:
    return os.environ.get(variable, "") not in ("", "0")


def _switched_off(plugin: Plugin) -> bool:
    def listed(variable: str) -> bool:
        names = {name.strip() for name in os.environ.get(variable, "").split(",")}
        return plugin.name in names or plugin.distribution in names

    if "GYMPOSIUM_PLUGINS" in os.environ and not listed("GYMPOSIUM_PLUGINS"):
        return True
    return listed("GYMPOSIUM_DISABLE_PLUGINS")


def _import_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise PluginError("not a Python file")
    if path.stem in sys.modules:
        raise PluginError(f"a module called {path.stem!r} is loaded already; rename the file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[path.stem]
        raise
    return module


@cache
def host() -> Host:
    """The process's host, made on first use."""
    return Host()
