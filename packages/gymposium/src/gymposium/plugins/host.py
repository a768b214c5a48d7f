"""The plugin host. It finds plugins, registers all or none of each plugin's specs, and lists broken plugins.

Pluggy checks the hooks. The host loads the plugins itself, because pluggy's loader stops at the first failing plugin.
Switches are environment variables, so they take effect before any import and reach worker processes:

- `GYMPOSIUM_PLUGINS=a,b`           load only these (entry-point or distribution names; empty: none)
- `GYMPOSIUM_DISABLE_PLUGINS=a,b`   load all but these
- `GYMPOSIUM_PLUGINS_STRICT=1`      a broken plugin is an error, for CI

The user's file (`gymposium.util.user_file`) lists one-file plugins to load in addition to the installed ones. Child
processes also load files from `--plugin FILE` (`gymposium.util.child_process`), regardless of the switches.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Set
from functools import cache, partial
from os.path import realpath
from pathlib import Path
from types import ModuleType
from typing import Any

import pluggy

from gymposium.errors import GymposiumError, PluginError, UnknownName
from gymposium.plugins import hookspecs
from gymposium.plugins.containment import run_contained
from gymposium.plugins.first_party import make_unknown_name
from gymposium.plugins.hookspecs import API_VERSION, HOOKS, PROJECT
from gymposium.plugins.offers import Offer, list_offers, normalize_name
from gymposium.plugins.plugin import Plugin
from gymposium.plugins.specs import (
    DISGUISE,
    BackendSpec,
    CommandSpec,
    ConfiguredSpec,
    CreditSpec,
    DisguiseSpec,
    EngineSpec,
    ExecutorSpec,
    GameSpec,
    LoggerSpec,
    ObjectiveSpec,
    OpponentSpec,
    RewardSpec,
    SourceSpec,
    Spec,
    resolve_entry_point,
)
from gymposium.util.child_process import add_plugin_file, list_plugin_files
from gymposium.util.user_file import load_user_file

ONLY = "GYMPOSIUM_PLUGINS"
WITHOUT = "GYMPOSIUM_DISABLE_PLUGINS"
STRICT = "GYMPOSIUM_PLUGINS_STRICT"
BUILTIN = "gymposium.plugins.builtin"
"""Module of the built-in plugin. The host imports it by name, because the module depends on everything it offers."""


class PluginWarning(UserWarning):
    """Warning about a broken plugin, which is skipped, or about a switch for a plugin that is not installed."""


class Host:
    """A process's plugins and their specs. `plugins` includes broken plugins."""

    def __init__(self, *, autoload: bool = True, strict: bool | None = None) -> None:
        self.strict = os.environ.get(STRICT, "") not in ("", "0") if strict is None else strict
        self.plugins: list[Plugin] = []
        self.complaints: list[str] = []
        """Warnings about the switches, and about plugins that crashed an earlier process.

        A broken plugin's error is in `Plugin.error`."""
        self._specs: dict[type[Spec], dict[str, Any]] = {kind: {} for kind in HOOKS.values()}
        self.games: dict[str, GameSpec] = self._specs[GameSpec]
        self.disguises: dict[str, DisguiseSpec] = self._specs[DisguiseSpec]
        self.opponents: dict[str, OpponentSpec] = self._specs[OpponentSpec]
        self.rewards: dict[str, RewardSpec] = self._specs[RewardSpec]
        self.loggers: dict[str, LoggerSpec] = self._specs[LoggerSpec]
        self.engines: dict[str, EngineSpec] = self._specs[EngineSpec]
        self.credits: dict[str, CreditSpec] = self._specs[CreditSpec]
        self.objectives: dict[str, ObjectiveSpec] = self._specs[ObjectiveSpec]
        self.sources: dict[str, SourceSpec] = self._specs[SourceSpec]
        self.backends: dict[str, BackendSpec] = self._specs[BackendSpec]
        self.executors: dict[str, ExecutorSpec] = self._specs[ExecutorSpec]
        self.commands: dict[str, CommandSpec] = self._specs[CommandSpec]
        self._claims: dict[_Claim, str] = {}
        """Plugin that owns each name and environment id."""
        self._manager = pluggy.PluginManager(PROJECT)
        self._manager.add_hookspecs(hookspecs)
        self._add(Plugin("builtin", BUILTIN, PROJECT), partial(importlib.import_module, BUILTIN))
        if autoload:
            self.load_all()

    def load_all(self) -> None:
        """Load the installed plugins, those in the user's file, and those inherited from the parent process."""
        for offer in list_offers():
            self._add(_load_plugin(offer), partial(_import_enabled_offer, offer))
        for path in (Path(realpath(path)) for path in load_user_file().plugins):
            self._add_file(path, _import_chosen_file)
        for path in list_plugin_files():
            if str(path) not in {plugin.source for plugin in self.plugins}:
                self._add_file(path, _import_inherited_file)
        self._check_switches()

    def load_file(self, path: str | Path) -> Plugin:
        """Load a one-file plugin, as with `--plugin my_game.py`.

        The file's folder is not searched for other modules. Entry points use the file's stem as the module name. A file
        that is already loaded is not loaded again. If this is the process's host, child processes load the file too.

        Raises `PluginError` and keeps nothing if the file is broken."""
        path = Path(realpath(path))
        if (loaded := next((one for one in self.plugins if one.source == str(path)), None)) is not None:
            if loaded.status == "active":
                return loaded
            self.plugins.remove(loaded)
        plugin = Plugin(path.stem, str(path))
        before = sys.modules.get(path.stem)
        error = run_contained(lambda: self._load(plugin, lambda: _import_file(path)), guard_stdout=True)
        if error is not None:
            self._remove(plugin)
            if before is None:
                sys.modules.pop(path.stem, None)  # so that it can be loaded again after a correction
            raise PluginError(f"{path}: {_format_error(error)}") from error
        self.plugins.append(plugin)
        if is_loaded() and host() is self:
            add_plugin_file(path)
        return plugin

    def load_offer(self, offer: Offer) -> Plugin:
        """Load a distribution's plugin, even if the switches exclude it."""
        plugin = _load_plugin(offer)
        self._add(plugin, partial(_import_offer, offer))
        return plugin

    def load_chosen_file(self, path: Path) -> Plugin:
        """Load a one-file plugin of the user's file, even if the switches exclude it."""
        return self._add_file(path, _import_file)

    def game(self, name: str) -> GameSpec:
        """Return a game's spec.

        Raises `UnknownName` with the nearest names, `MissingExtra` for a game in another gymposium distribution, and
        `PluginError` if that distribution's plugin is switched off or broken."""
        if name not in self.games:
            raise make_unknown_name("game", name, self.games, self.plugins)
        return self.games[name]

    def make_game(self, name: str, params: Mapping[str, Any]) -> Any:
        """Make the `Game` with this name and parameters.

        Raises `UnknownName`, `BadParameter`, and `PluginError` if its implementation cannot be imported."""
        return self.make(self.game(name), params)

    def make(self, spec: GameSpec, params: Mapping[str, Any]) -> Any:
        """Make the `Game` for this spec and parameters, disguised if requested.

        Raises the same errors as `make_game`."""
        checked = spec.check_params(params)
        seed = checked.pop(DISGUISE.name, 0) if spec.name in self.disguises else 0
        game = self.implementation(spec)(spec, checked)
        return self.implementation(self.disguises[spec.name])(game, seed) if seed else game

    def implementation(self, spec: Spec) -> Any:
        """Return the object named by a spec's entry point.

        Raises `PluginError` with the plugin and the reason if it cannot be imported."""
        return self._import(spec, spec.entry_point)

    @property
    def files(self) -> list[Path]:
        """Return the loaded one-file plugins."""
        return [
            Path(plugin.source)
            for plugin in self.plugins
            if plugin.source.endswith(".py") and plugin.status == "active"
        ]

    def owner(self, spec: Spec) -> Plugin:
        """Return the plugin that yielded a spec, or a plugin named `unknown`."""
        owners = (plugin for plugin in self.plugins if spec in plugin.specs)
        return next(owners, Plugin("unknown", "unknown"))

    def settings(self, spec: ConfiguredSpec) -> Any:
        """Return a spec's settings class.

        Raises `PluginError` with the plugin and the reason if it cannot be imported."""
        return self._import(spec, spec.settings)

    def _import(self, spec: Spec, entry_point: str) -> Any:
        imported: list[Any] = []
        error = run_contained(lambda: imported.append(resolve_entry_point(entry_point)), guard_stdout=False)
        if isinstance(error, GymposiumError):  # such as a missing extra, which tells the user what to do
            raise error
        if error is not None:
            raise PluginError(
                f"Plugin {self.owner(spec).name!r}: its {spec.kind} {spec.name!r} could not be loaded from "
                f"{entry_point}: {_format_error(error)}"
            ) from error
        return imported[0]

    def list_complaints(self) -> list[str]:
        """Return one line per broken plugin, followed by `complaints`."""
        return [*(_format_complaint(plugin) for plugin in self.plugins if plugin.status == "broken"), *self.complaints]

    def _check_switches(self) -> None:
        """Warn about unknown plugin names in the switches."""
        known = {normalize_name(name) for p in self.plugins for name in (p.name, p.distribution) if name}
        for name in _read_names(ONLY) or ():
            if normalize_name(name) not in known:
                complaint = f"{ONLY}: {UnknownName('installed plugin', name, known)}"
                if self.strict:
                    raise PluginError(complaint)
                self.complaints.append(complaint)

    def _add_file(self, path: Path, load: Callable[[Path], ModuleType]) -> Plugin:
        """Add the one-file plugin that `load` imports."""
        plugin = Plugin(path.stem, str(path))
        self._add(plugin, partial(load, path))
        return plugin

    def _add(self, plugin: Plugin, load: Callable[[], Any]) -> None:
        """Register all of a plugin's specs, or none of them if it is broken. Then store the reason."""
        error = run_contained(lambda: self._load(plugin, load), guard_stdout=plugin.distribution != PROJECT)
        if isinstance(error, _PluginSwitchedOff):
            plugin.status = "disabled"
        elif error is not None:
            self._remove(plugin)
            plugin.status, plugin.error = "broken", _format_error(error)
            if self.strict:
                raise PluginError(_format_complaint(plugin)) from error
        self.plugins.append(plugin)

    def _remove(self, plugin: Plugin) -> None:
        """Remove the specs of a plugin found to be broken after registration."""
        for spec in plugin.specs:
            del self._specs[type(spec)][spec.name]
            for claim, _ in _list_claims(spec):
                del self._claims[claim]
        if plugin.specs:
            self._manager.unregister(name=plugin.name)
            removed, plugin.specs = plugin.specs, []
            for disguise in removed:
                if isinstance(disguise, DisguiseSpec):
                    self._change_game(disguise.name, disguise.remove)

    def _load(self, plugin: Plugin, load: Callable[[], Any]) -> None:
        module = load()
        if any(p.name == plugin.name and p.status == "active" for p in self.plugins):
            raise PluginError(f"another plugin already has the name {plugin.name!r}. Rename one of them")
        api = getattr(module, "GYMPOSIUM_API", API_VERSION)
        if api != API_VERSION:
            raise PluginError(
                f"written for plugin API {api}, but this gymposium has {API_VERSION}. Install matching versions"
            )
        self._manager.register(module, name=plugin.name)  # checks the arguments of each hook
        try:
            plugin.specs, claims = self._collect(module, plugin.name)
        except BaseException:
            self._manager.unregister(name=plugin.name)
            raise
        self._claims |= claims
        for spec in plugin.specs:
            self._specs[type(spec)][spec.name] = spec
        for disguise in self.disguises.values():
            self._change_game(disguise.name, disguise.apply, plugin)

    def _change_game(self, name: str, change: Callable[[GameSpec], GameSpec], loading: Plugin | None = None) -> None:
        """Replace a game's spec, if the game exists. `loading` is the plugin being loaded."""
        spec = self.games.get(name)
        if spec is None:
            return
        self.games[name] = new = change(spec)
        for plugin in (*self.plugins, *([loading] if loading else [])):
            plugin.specs = [new if one is spec else one for one in plugin.specs]

    def _collect(self, module: Any, owner: str) -> tuple[list[Spec], dict[_Claim, str]]:
        """Return a plugin's checked specs and the names they claim, without registering anything."""
        specs: list[Spec] = []
        claims: dict[_Claim, str] = {}
        hooks = list(self._list_hooks(module))
        if not hooks:
            raise PluginError("implements no hooks. Is @hookimpl missing?")
        for hook, function in hooks:
            kind, yielded = HOOKS[hook], function()
            if isinstance(yielded, str | bytes) or not hasattr(yielded, "__iter__"):
                raise PluginError(f"{hook} returned {yielded!r}. It must yield {kind.__name__}")
            for spec in yielded:
                if not isinstance(spec, kind):
                    raise PluginError(f"{hook} must yield {kind.__name__}, not {spec!r}")
                for claim, in_words in _list_claims(spec):
                    if claim in claims:
                        raise PluginError(
                            f"{hook} yields {in_words}, which this plugin already has. Remove the duplicate"
                        )
                    if claim in self._claims:
                        raise PluginError(
                            f"{hook} yields {in_words}, which {self._claims[claim]} already has. Choose another name"
                        )
                    claims[claim] = f"{spec.name!r} of {owner}" if claim[0] is None else owner
                specs.append(spec)
        return specs, claims

    def _list_hooks(self, module: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
        """Yield a plugin's hooks, by their names in `HOOKS`."""
        for caller in self._manager.get_hookcallers(module) or ():
            for hook in caller.get_hookimpls():
                if hook.plugin is not module:
                    continue
                if hook.wrapper or hook.hookwrapper:
                    raise PluginError(
                        f"{caller.name} is a wrapper, but gymposium's hooks only yield specs. Remove wrapper=True"
                    )
                if caller.name in HOOKS:
                    yield caller.name, hook.function
                elif not hook.optionalhook:  # pluggy's mark for a hook that the host may lack
                    raise UnknownName("hook", caller.name, HOOKS)


_Claim = tuple[type[Spec] | None, str]


def _list_claims(spec: Spec) -> Iterator[tuple[_Claim, str]]:
    """Yield a spec's exclusive claims, each with a description: the name among specs of its kind and, for a game, the
    environment id."""
    yield (type(spec), spec.name), repr(spec.name)
    if isinstance(spec, GameSpec):
        yield (None, spec.env_id), f"{spec.name!r} with the id {spec.env_id}"


def _format_complaint(plugin: Plugin) -> str:
    return (
        f"gymposium plugin {plugin.name!r} ({plugin.source}) is broken and was left out: {plugin.error} "
        f"({WITHOUT}={plugin.name} silences this)"
    )


class _PluginSwitchedOff(Exception):
    """Raised for a plugin that the switches exclude."""


def is_switched_off(names: Set[str]) -> bool:
    """Return whether the switches exclude the plugin, which has all these names."""
    only, without = _read_names(ONLY), _read_names(WITHOUT) or []
    chosen = only is None or not names.isdisjoint(map(normalize_name, only))
    return not chosen or not names.isdisjoint(map(normalize_name, without))


def _import_enabled_offer(offer: Offer) -> Any:
    """Import the plugin, unless it is switched off. Raises `PluginError` like `_import_offer`."""
    if is_switched_off(offer.names):
        raise _PluginSwitchedOff
    return _import_offer(offer)


def _load_plugin(offer: Offer) -> Plugin:
    return Plugin(offer.name, offer.source, offer.distribution, offer.version)


def _import_offer(offer: Offer) -> Any:
    """Import the entry point's object.

    Raises `PluginError` if the distribution's metadata cannot be read."""
    if offer.error or offer.entry_point is None:
        raise PluginError(offer.error)
    return offer.entry_point.load()


def _read_names(variable: str) -> list[str] | None:
    """Return the names in an environment variable, or None if it is not set."""
    value = os.environ.get(variable)
    return None if value is None else [name.strip() for name in value.split(",") if name.strip()]


def _format_error(error: BaseException) -> str:
    """Return the error on one line, with its type unless it is a `GymposiumError`.

    The error comes from a plugin, so formatting it may fail too."""
    texts: list[str] = []
    failed = run_contained(lambda: texts.append(str(error)), guard_stdout=False)
    text = f"(its text could not be made: {type(failed).__name__})" if failed else " ".join(texts[0].split())
    if isinstance(error, SystemExit):
        return f"it ended the program (SystemExit: {text})"
    return text if isinstance(error, GymposiumError) else f"{type(error).__name__}{text and f': {text}'}"


def _import_chosen_file(path: Path) -> ModuleType:
    """Import a plugin named in the user's file, unless it is switched off."""
    if is_switched_off({normalize_name(path.stem)}):
        raise _PluginSwitchedOff
    return _import_file(path)


def _import_inherited_file(path: Path) -> ModuleType:
    """Import a plugin inherited from the parent process, or reuse the one that this process's earlier host imported."""
    module = sys.modules.get(path.stem)
    return module if module is not None and getattr(module, "__file__", None) == str(path) else _import_file(path)


def _import_file(path: Path) -> ModuleType:
    name = path.stem
    if not path.exists():
        raise PluginError("the file does not exist. Correct its path")
    if not path.is_file() or path.suffix != ".py":
        raise PluginError("not a Python file. Name a .py file")
    if path.stat().st_size > _MOST_SOURCE_BYTES:
        raise PluginError(f"it has more than {_MOST_SOURCE_BYTES:,} bytes, so it is not imported. Split it")
    if not name.isidentifier():
        raise PluginError(f"{name!r} is not a valid module name. Use letters, digits and underscores")
    if name in sys.modules or _is_installed_elsewhere(name, path):
        raise PluginError(f"another module has the name {name!r}. Rename the file")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None, "a .py file has a loader"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where entry points such as "my_game:MyGame" are looked up
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _is_installed_elsewhere(name: str, path: Path) -> bool:
    spec = importlib.util.find_spec(name)
    return spec is not None and (spec.origin is None or realpath(spec.origin) != str(path))


_MOST_SOURCE_BYTES = 10_000_000
"""Maximum size of an imported plugin file. Python reads a whole file before it notices that it is not source code."""
_loading: list[Host] = []
"""This process's host while it is loading plugins."""


@cache
def host() -> Host:
    """Return this process's host, which is created on first use.

    A plugin may call this during its import, for example through `make_player`. It then gets the host with the plugins
    loaded so far."""
    if _loading:
        return _loading[0]
    made = Host(autoload=False)
    _loading.append(made)
    try:
        made.load_all()
    except BaseException:
        host.cache_clear()  # a plugin may have asked for it
        raise
    finally:
        _loading.clear()
    return made


def is_loaded() -> bool:
    """Return whether this process's host exists."""
    return host.cache_info().currsize > 0


def remake_host() -> Host:
    """Recreate this process's host with the current switches."""
    host.cache_clear()
    return host()


def disable_plugins() -> Host:
    """Recreate this process's host with only the built-in plugin. Worker processes do the same."""
    os.environ[ONLY] = ""
    return remake_host()
