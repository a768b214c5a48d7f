"""The table `[engine]` of a config: the settings common to all engines, and those of the engine selected by `kind`."""

from __future__ import annotations

from dataclasses import MISSING, fields
from functools import cache, partial
from typing import Any, ClassVar, Literal, get_type_hints

from pydantic import Field, create_model, model_validator
from pydantic_core import PydanticUndefined

from gymposium.errors import PluginError
from gymposium.plugins.first_party import make_unknown_name
from gymposium.plugins.host import host
from gymposium_train.util.settings import Settings
from gymposium_train.util.variants import Variants


class Engine(Settings):
    """The engine that samples the rollouts. Each engine has a subclass, created at runtime, with the fields of its
    settings."""

    kind: str
    """Which engine is used."""
    schedule: Literal["rounds", "streaming"] = "rounds"
    """`rounds`: requests of all matches are batched, so runs are bitwise reproducible. `streaming`: a match continues
    as soon as its replies arrive, which suits servers. It is the default for engines that answer each request
    separately."""
    staleness: int = Field(default=0, ge=0)
    """Maximum lag of the sampling weights behind the learner's, in steps. 0: strictly on-policy. Above 0, matches
    of later steps are in flight during updates, which `shared` does not support."""
    own_class: ClassVar[type]
    """The class of the engine's settings."""

    @property
    def own(self) -> Any:
        """The settings of the engine, as an object of its class."""
        return self.own_class(**{field.name: getattr(self, field.name) for field in fields(self.own_class)})

    def __reduce__(self) -> Any:
        """Pickle the values only, because each process creates the class again."""
        return partial(make_engine_table, **dict(self)), ()

    @model_validator(mode="after")
    def _check_settings(self) -> Engine:
        _ = self.own  # its class may reject values
        return self


def _list_kinds() -> dict[str, Any]:
    return {
        name: _make_table_class(name, spec.summary, host().settings(spec), spec.streams)
        for name, spec in host().engines.items()
    }


@cache
def _make_table_class(name: str, summary: str, own: Any, streams: bool) -> type[Engine]:
    """Make the settings class of an engine: `Engine` with the fields of the engine's dataclass, including types,
    defaults and docstrings."""
    schema = create_model("Described", __base__=Settings, own=(own, ...)).model_json_schema()["$defs"][own.__name__]
    kind = (Literal[name], Field(default=name, description="Which engine is used."))
    hints, own_fields = get_type_hints(own), dict[str, Any](kind=kind)
    if streams:
        schedule = Engine.model_fields["schedule"]
        own_fields["schedule"] = (schedule.annotation, Field(default="streaming", description=schedule.description))
    for field in fields(own):
        text = schema["properties"][field.name].get("description")
        factory = None if field.default_factory is MISSING else field.default_factory
        default = PydanticUndefined if field.default is MISSING else field.default
        info = Field(default_factory=factory, description=text) if factory else Field(default=default, description=text)
        own_fields[field.name] = (hints[field.name], info)
    table = create_model(own.__name__, __base__=Engine, __doc__=summary, **own_fields)
    table.own_class = own
    return table


ENGINES_HERE = ("shared", "own")
"""The engines whose model is in this process."""
ENGINES = Variants("engine", Engine, _list_kinds, default="shared")
"""The table `[engine]` of a config."""


def make_engine_table(kind: str, **values: Any) -> Engine:
    """Return the table of an engine with these settings. Raises `UnknownName` if no plugin has the engine."""
    tables = _list_kinds()
    if kind not in tables:
        raise make_unknown_name("engine", kind, tables, host().plugins)
    table: Engine = tables[kind](**values)
    return table


def find_engine(backend: str) -> str:
    """Return the default kind of engine for a backend's models: the first that supports them. Raises `PluginError` if
    none does."""
    kind = next((name for name, spec in host().engines.items() if spec.backend == backend), None)
    if kind is None:
        raise PluginError(f"No plugin has an engine for models of backend.kind={backend}. Install one that does.")
    return kind
