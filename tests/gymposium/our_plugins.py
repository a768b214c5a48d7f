"""The plugins of this repository that offer games."""

from __future__ import annotations

import tomllib
from pathlib import Path

PLUGINS = Path(__file__).resolve().parents[2] / "plugins"


def names_with_games() -> list[str]:
    """The names of the plugins in `plugins/` whose module offers games. The others may need libraries that the tests do
    not install."""
    return [
        name
        for project in sorted(PLUGINS.glob("*/pyproject.toml"))
        if any("def gymposium_games" in file.read_text() for file in project.parent.glob("src/*/plugin.py"))
        for name in tomllib.loads(project.read_text())["project"]["entry-points"].get("gymposium", {})
    ]
