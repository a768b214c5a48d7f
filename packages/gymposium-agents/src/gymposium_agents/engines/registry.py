"""Registry of engines: the specs added by plugins, by name, and construction of engines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gymposium.plugins.first_party import make_unknown_name
from gymposium.plugins.host import host
from gymposium.plugins.specs import EngineSpec
from gymposium.util.settings import read_settings
from gymposium_agents.engines.protocol import EngineStart, HostingEngine


def find_engine_spec(name: str) -> EngineSpec:
    """Return the spec of an engine. Raises `UnknownName` with the closest names."""
    engines = host().engines
    if name not in engines:
        raise make_unknown_name("engine", name, engines, host().plugins)
    return engines[name]


def read_engine_settings(where: str, spec: EngineSpec, values: Mapping[str, Any]) -> Any:
    """Return the settings of an engine, an object of the spec's settings class. In errors, `where` names the table or
    player with the settings.

    Raises `UnknownName` for an unknown setting, `BadOption` for an invalid value, and `PluginError` if the class cannot
    be imported."""
    return read_settings(where, host().settings(spec), values)


def make_engine(spec: EngineSpec, start: EngineStart, settings: Any) -> HostingEngine:
    """Make a new engine. Raises `PluginError` if its factory cannot be imported, and the errors of the factory."""
    engine: HostingEngine = host().implementation(spec)(start, settings)
    return engine
