"""Generate the table of what gymposium's distributions add, from their plugins:

    python tests/workspace/first_party.py

Plugins are imported from this repository, installed or not, so their modules must import nothing but gymposium.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from typing import Any

from gymposium.plugins.first_party import FILE, get_written_name
from gymposium.plugins.hookspecs import HOOKS

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "packages/gymposium/src/gymposium/plugins" / FILE


def generated() -> str:
    """Return the text of the table, from all plugins of the repository."""
    table: dict[str, dict[str, str]] = defaultdict(dict)
    for file in sorted([*ROOT.glob("packages/*/pyproject.toml"), *ROOT.glob("plugins/*/pyproject.toml")]):
        project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
        for module in project.get("entry-points", {}).get("gymposium", {}).values():
            plugin = _imported(module, file.parent / "src")
            for hook, kind in HOOKS.items():
                for spec in getattr(plugin, hook, tuple)():
                    table[kind.kind][get_written_name(spec)] = _install(project, spec.name)
    ordered = {kind: dict(sorted(names.items())) for kind, names in sorted(table.items())}
    return json.dumps(ordered, indent=2) + "\n"


def _install(project: dict[str, Any], name: str) -> str:
    """Return the argument of `pip install`: the distribution, with the extra of the same name if it has one."""
    distribution: str = project["name"]
    return f'"{distribution}[{name}]"' if name in project.get("optional-dependencies", {}) else distribution


def _imported(module: str, source: Path) -> Any:
    sys.path.insert(0, str(source))
    try:
        return import_module(module)
    finally:
        sys.path.remove(str(source))


if __name__ == "__main__":
    TABLE.write_text(generated(), encoding="utf-8")
