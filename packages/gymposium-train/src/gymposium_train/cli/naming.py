"""Command options that set config settings. Errors name the options as the user typed them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from gymposium_train.config.overrides import Override
from gymposium_train.config.problems import BadConfig

_SETTING = re.compile(r"(?P<path>[\w.\[\]]+)(?P<value> = )?")


def make_overrides(options: Mapping[str, tuple[tuple[str, ...], Any]]) -> list[Override]:
    """Return the overrides for the given options. `options` maps each option's name to the path of its setting and its
    value, or None if it is not given."""
    return [Override(path, value, name) for name, (path, value) in options.items() if value is not None]


@contextmanager
def name_options(options: Sequence[Override]) -> Iterator[None]:
    """Make config problems raised inside the block name the option that the user typed instead of its setting."""
    try:
        yield
    except BadConfig as error:
        raise BadConfig(_name_option(problem, options) for problem in error.problems) from error


def _name_option(problem: str, options: Sequence[Override]) -> str:
    """Replace the setting in a problem's text with the option that the user typed, if one sets it."""
    found = _SETTING.match(problem)
    if found is None:
        return problem
    about = tuple(found["path"].replace("[", ".").replace("]", "").split("."))
    for option in options:
        if about[: len(option.path)] == option.path and _has_path(option.value, about[len(option.path) :]):
            rest = problem[found.end() :].replace(f" ({found['path']}=)", "")
            if option.value is True:
                return option.written + rest.removeprefix("true")
            return f"{option.written} {rest}" if found["value"] else option.written + rest
    return problem


def _has_path(value: Any, path: Sequence[str]) -> bool:
    """Return True if the path exists in nested data."""
    for name in path:
        if isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        elif isinstance(value, Mapping) and name in value:
            value = value[name]
        else:
            return False
    return True
