"""Tagged unions of settings: the `kind` of a table selects the class that reads it.

The classes may come from plugins, so they are looked up when a config is read, not when `TrainConfig` is defined. A
table accepts only the settings of its variant, so settings without effect are rejected.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationError
from pydantic_core import InitErrorDetails, core_schema

from gymposium.errors import PluginError
from gymposium.plugins.first_party import check_first_party, make_unknown_name
from gymposium.plugins.host import host
from gymposium.plugins.specs import ConfiguredSpec
from gymposium_train.util.settings import Settings

Kinds = Mapping[str, type[Settings]]
"""Settings classes by `kind`."""


@dataclass(frozen=True, slots=True)
class Variants:
    """Annotation of a field whose table is read by the class of its `kind`."""

    what: str
    """Noun for the things that the table chooses between, as in `Spec.kind`."""
    base: type[Settings]
    """The base class of all variants."""
    kinds: Callable[[], Kinds]
    """Returns the classes of all variants."""
    default: str
    """The kind of a table without a `kind`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(self._read_settings)

    def __get_pydantic_json_schema__(self, schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        variants = [handler(kind.__pydantic_core_schema__) for kind in self.kinds().values()]
        return {"oneOf": variants, "discriminator": {"propertyName": "kind"}, "default": {"kind": self.default}}

    def _read_settings(self, data: Any) -> Settings:
        """Read the settings of a table, without conversions. Raises `ValidationError` with paths in the table, and
        `MissingExtra` for a kind from another gymposium distribution."""
        if isinstance(data, self.base):
            return data
        if not isinstance(data, Mapping):
            raise _make_error("dict_type", (), data)
        kinds, kind = self.kinds(), data.get("kind", self.default)
        if not (isinstance(kind, str) and kind in kinds):
            check_first_party(self.what, str(kind), kinds, host().plugins)
            raise _make_error("literal_error", ("kind",), kind, expected=", ".join(kinds))
        return kinds[kind].model_validate_json(json.dumps(data), strict=True)


def make_kind_finder(specs: Callable[[], Mapping[str, ConfiguredSpec]], base: type[Settings]) -> Callable[[], Kinds]:
    """Return a function that maps names to settings classes, for all specs of a hook. It raises `PluginError` if a
    class is not a settings class of its spec."""

    def find_kinds() -> Kinds:
        return {name: _load_settings_class(spec, base) for name, spec in specs().items()}

    return find_kinds


def make_variant(what: str, specs: Mapping[str, ConfiguredSpec], kind: str, settings: Settings) -> Any:
    """Make the object that the spec of this kind names, with these settings. `what` is the kind of object, such as
    `credit`.

    Raises `UnknownName` if the plugin with the spec is not loaded."""
    if kind not in specs:
        raise make_unknown_name(what, kind, specs, host().plugins)
    return host().implementation(specs[kind])(settings)


def _load_settings_class(spec: ConfiguredSpec, base: type[Settings]) -> type[Settings]:
    settings = host().settings(spec)
    if not (isinstance(settings, type) and issubclass(settings, base)):
        raise PluginError(f"{spec.settings} must be a subclass of {base.__module__}.{base.__name__}.")
    if settings.model_fields["kind"].default != spec.name:
        raise PluginError(f'{spec.settings} must have the field  kind: Literal["{spec.name}"] = "{spec.name}".')
    return settings


def _make_error(kind: str, path: tuple[str, ...], data: Any, **context: str) -> ValidationError:
    details = InitErrorDetails(type=kind, loc=path, input=data, ctx=context)
    return ValidationError.from_exception_data("table", [details])
