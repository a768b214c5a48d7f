"""Presets: training configs to start from, as TOML files. Each names its sources and a command to try it on a CPU."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

from gymposium.errors import UnknownName

_ENDING = ".toml"


def list_presets() -> list[str]:
    """Return the names of all presets, sorted."""
    return sorted(file.name.removesuffix(_ENDING) for file in files(__name__).iterdir() if file.name.endswith(_ENDING))


def read_preset_text(name: str) -> str:
    """Return the text of a preset, with its comments. Raises `UnknownName` with the nearest names."""
    if name not in list_presets():
        raise UnknownName("preset", name, list_presets())
    return files(__name__).joinpath(name + _ENDING).read_text(encoding="utf-8")


def read_preset(name: str) -> dict[str, Any]:
    """Return the settings of a preset. Raises `UnknownName` with the nearest names."""
    return tomllib.loads(read_preset_text(name))


def read_preset_summary(name: str) -> str:
    """Return the summary of a preset, its first comment. Raises `UnknownName` with the nearest names."""
    return read_preset_text(name).partition("\n")[0].removeprefix("# ")
