"""Command options that set config settings. Errors name the options as the user typed them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from gymposium.errors import BadOption
from gymposium.games.registry import takes_colon
from gymposium_train.config.overrides import Override
from gymposium_train.config.problems import BadConfig

_SHARE = re.compile(r"(?P<name>.+):(?P<share>[0-9]+(\.[0-9]+)?)")
_SETTING = re.compile(r"(?P<path>[\w.\[\]]+)(?P<value> = )?")


def make_overrides(options: Mapping[str, tuple[tuple[str, ...], Any]]) -> list[Override]:
    """Return the overrides for the given options. `options` maps each option's name to the path of its setting and its
    value, or None if it is not given."""
    return [Override(path, value, name) for name, (path, value) in options.items() if value is not None]


def parse_games(texts: Sequence[str] | None) -> list[str] | dict[str, float] | None:
    """Return the setting `games` for the values of `--game`, each NAME or NAME:SHARE. A game without a share has 1. A
    number that belongs to the name, as in `openspiel:2048`, is not a share.

    Raises `BadOption` for a duplicate game."""
    split = [_split_share(text) for text in texts or ()]
    if all(share is None for _, share in split):
        return None if texts is None else [*texts]
    games: dict[str, float] = {}
    for name, share in split:
        if name in games:
            raise BadOption(f"--game {name}: duplicate game. Name it once.")
        games[name] = 1.0 if share is None else share
    return games


def _split_share(text: str) -> tuple[str, float | None]:
    found = _SHARE.fullmatch(text)
    if found is None or takes_colon(found["name"]):
        return text, None
    return found["name"], float(found["share"])


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
