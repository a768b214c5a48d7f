"""Settings classes, and reading their values from options in a file, such as a logger's or a suite's.

Settings are plain frozen dataclasses, so neither the core nor authors need a validation library. Pydantic accepts them
too.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from gymposium.errors import BadOption, GymposiumError, PluginError, UnknownName


@dataclass(frozen=True, slots=True)
class NoSettings:
    """The settings class of an implementation without settings."""


def dump_settings(settings: Any) -> dict[str, Any]:
    """Return a settings object as plain data, which `read_settings` reads."""
    values = {field.name: getattr(settings, field.name) for field in fields(settings)}
    return {name: str(value) if hasattr(value, "parse") else value for name, value in values.items()}


def read_settings(where: str, kind: Any, given: Mapping[str, Any]) -> Any:
    """Return the settings of class `kind` with these values, and defaults for the other fields.

    Fields may be `bool`, `int`, `float`, `str`, `Literal[...]`, `tuple[X, ...]` (a list in a file), `X | None`, and a
    class with a method `parse` for texts. `where` names the table in errors. Raises `UnknownName` for an unknown
    option. Raises `BadOption` if `given` is not a table, a value is missing or has the wrong type, or the class raises
    `ValueError`. Raises `PluginError` if the class is not a dataclass or has a field of another type."""
    if not (isinstance(kind, type) and is_dataclass(kind)):
        raise PluginError(f"{where}: the settings class must be a dataclass, not {kind!r}.")
    if not isinstance(given, Mapping):
        raise BadOption(f"{where}={given!r} must be a table of options, which may be empty.")
    hints = get_type_hints(kind)
    known = {field.name: field for field in fields(kind) if field.init}
    for name in given:
        if name not in known:
            raise UnknownName(f"option of {where}", name, known, None if known else "It has no options.")
    for name, field in known.items():
        if name not in given and field.default is MISSING and field.default_factory is MISSING:
            raise BadOption(f"{where}: {name} is missing. It must be {_describe_type(hints[name], where)}.")
    values = {name: _fit_value(f"{where}: {name}", hints[name], value) for name, value in given.items()}
    for name, value in values.items():
        if value is _UNFIT:
            raise BadOption(f"{where}: {name}={given[name]!r} must be {_describe_type(hints[name], where)}.")
    try:
        return kind(**values)
    except GymposiumError:
        raise
    except ValueError as error:
        raise BadOption(f"{where}: {error}") from error


_UNFIT = object()
_PLAIN = {bool: "true or false", int: "an integer", float: "a number", str: "text"}


def _fit_value(where: str, hint: Any, value: Any) -> Any:
    """Return `value` converted to the type `hint`, or `_UNFIT`.

    Integers become floats and lists become tuples, because files do not distinguish them. Nothing else is converted."""
    if hint is float and type(value) is int:
        return float(value)
    if hint in _PLAIN:
        return value if type(value) is hint else _UNFIT
    if hint is type(None):
        return None if value is None else _UNFIT
    if get_origin(hint) is Literal:
        return next((item for item in get_args(hint) if type(item) is type(value) and item == value), _UNFIT)
    if get_origin(hint) in (Union, types.UnionType):
        candidates = (_fit_value(where, part, value) for part in get_args(hint))
        return next((candidate for candidate in candidates if candidate is not _UNFIT), _UNFIT)
    if _is_parsed(hint):
        return hint.parse(value) if type(value) is str else _UNFIT
    if _is_list(hint):
        if not isinstance(value, list | tuple):
            return _UNFIT
        items = tuple(_fit_value(where, get_args(hint)[0], item) for item in value)
        return _UNFIT if any(item is _UNFIT for item in items) else items
    raise PluginError(
        f"{where} has the type {hint!r}, which a config file cannot express. Use bool, int, float, str, Literal or "
        "tuple."
    )


def _describe_type(hint: Any, where: str) -> str:
    if hint in _PLAIN or _is_parsed(hint):
        return _PLAIN.get(hint, "text")
    if get_origin(hint) is Literal:
        return " or ".join(repr(choice) for choice in get_args(hint))
    if get_origin(hint) in (Union, types.UnionType):
        # a file cannot express None: it is the value of an omitted option
        return " or ".join(_describe_type(part, where) for part in get_args(hint) if part is not type(None))
    if _is_list(hint):
        return f"a list, each item {_describe_type(get_args(hint)[0], where)}"
    raise PluginError(
        f"{where} has the type {hint!r}, which a config file cannot express. Use bool, int, float, str, Literal or "
        "tuple."
    )


def _is_list(hint: Any) -> bool:
    return get_origin(hint) is tuple and get_args(hint)[1:] == (...,)


def _is_parsed(hint: Any) -> bool:
    return isinstance(hint, type) and hasattr(hint, "parse")
