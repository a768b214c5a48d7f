"""Presets: recipes to start from, as TOML files that name their sources and a command that tries them on a CPU."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

from gymposium.errors import UnknownName

_ENDING = ".toml"


def preset_names() -> list[str]:
    """The names of all presets, sorted."""
    found = (file.name for file in files(__name__).iterdir())
    return sorted(name.removesuffix(_ENDING) for name in found if name.endswith(_ENDING))


def preset_text(name: str) -> str:
    """A preset as it was written, with its comments. Raises `UnknownName` with the nearest."""
    if name not in preset_names():
        raise UnknownName("preset", name, preset_names())
    return files(__name__).joinpath(name + _ENDING).read_text(encoding="utf-8")


def preset_data(name: str) -> dict[str, Any]:
    """The settings of a preset. Raises `UnknownName` with the nearest."""
    return tomllib.loads(preset_text(name))


def preset_summary(name: str) -> str:
    """The summary of a preset: its first comment."""
    return preset_text(name).partition("\n")[0].removeprefix("# ")
