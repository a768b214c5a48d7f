"""Each built-in game is a module named after it, and its spec loads without its code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from gymposium.plugins.host import Host

PROGRAM = """
import json, sys
from gymposium.plugins.host import Host
specs = Host(autoload=False).games.values()
modules = [spec.entry_point.partition(":")[0] for spec in specs]
print(json.dumps([name for name in ("pyspiel", "open_spiel", *modules) if name in sys.modules]))
"""


def test_each_game_is_a_module_named_after_it() -> None:
    for name, spec in Host(autoload=False).games.items():
        package, _, attribute = spec.entry_point.rpartition(".")
        assert attribute == f"{name}:game"
        folder = sys.modules[package]
        assert folder.__name__.startswith("gymposium.games.")
        assert name in [one.name for one in folder.GAMES]
        assert spec.family == package.rpartition(".")[2].replace("_", " ")
        tests = Path(__file__).parent / package.rpartition(".")[2] / f"test_{name}.py"
        assert tests.is_file(), f"{name} has no tests: write {tests}"


def test_reading_specs_imports_no_engine_and_no_game() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
