"""The user's file `gymposium.toml`: one-file plugins to load always, defaults for command options, and prices.

It is in the user's configuration directory, or at the path in the environment variable `GYMPOSIUM_CONFIG`. The working
directory is never searched, because a plugin runs code and a folder may come from anyone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gymposium.errors import BadOption, describe_cause
from gymposium.util.plain_file import read_plain_text
from gymposium.util.strict_toml import parse_strict_toml

VARIABLE = "GYMPOSIUM_CONFIG"
"""Environment variable with the file's path. If empty, no file is read."""
PLUGINS = "plugins"
_PRICES = "prices"


@dataclass(frozen=True, slots=True)
class UserFile:
    """The content of the user's file. It is empty if there is no file."""

    path: Path | None = None
    plugins: tuple[Path, ...] = ()
    """The one-file plugins to load."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Option defaults by command."""
    prices: Mapping[str, str] = field(default_factory=dict)
    """Prices by model, as in the option `prices=` of `api:MODEL`."""


def load_user_file() -> UserFile:
    """Load the user's file. Raises `BadOption` if it cannot be read or is invalid."""
    path = _find_path()
    if path is None:
        return UserFile()
    try:
        data = parse_strict_toml(read_plain_text(path))
    except OSError as error:
        raise BadOption(
            f"{VARIABLE}: {path} cannot be read ({describe_cause(error)}). Name a readable file, or unset the variable."
        ) from error
    except ValueError as error:
        raise BadOption(f"{path} is not valid TOML: {error}. Correct or remove it.") from error
    plugins = data.pop(PLUGINS, [])
    if not isinstance(plugins, list) or not all(isinstance(plugin, str) for plugin in plugins):
        raise BadOption(f'{path}: {PLUGINS}={plugins!r} must be a list of files, such as ["~/games/my_game.py"].')
    prices = data.pop(_PRICES, {})
    if not isinstance(prices, dict) or not all(isinstance(price, str) for price in prices.values()):
        raise BadOption(f'{path}: {_PRICES}={prices!r} must be a table, with lines such as "gpt-5-mini" = "0.25/2".')
    for name, table in data.items():
        if not isinstance(table, dict):
            raise BadOption(f"{path}: {name} is outside a table. Put defaults under the command's name, such as [run].")
    return UserFile(path, tuple(path.parent / Path(plugin).expanduser() for plugin in plugins), data, prices)


def _find_path() -> Path | None:
    """Return the file's path, or None without a file."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return Path(named).expanduser().absolute() if named else None
    try:
        path = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "gymposium" / "gymposium.toml"
    except RuntimeError:  # there is no home directory
        return None
    return path if path.is_file() else None
