"""Processes on other nodes get this process's plugins, switches and permissions."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from gymposium_ray.node_setup import Setup

PLUGIN = """
from gymposium import GameSpec, hookimpl

@hookimpl
def gymposium_games():
    return []
"""
THERE = """
import gymposium  # as a Ray worker, which loads plugins before it gets its setup
import json, os, pickle, sys
pickle.load(sys.stdin.buffer).apply()
from gymposium.plugins.host import host
names = ("GYMPOSIUM_ALLOW", "GYMPOSIUM_ALLOW_ENV", "GYMPOSIUM_DISABLE_PLUGINS", "GYMPOSIUM_PLUGIN_FILES")
print(json.dumps({
    "active": [plugin.name for plugin in host().plugins if plugin.status == "active"],
    **{name: os.environ.get(name) for name in names},
}))
"""


@pytest.mark.slow
def test_remote_processes_are_set_up_like_this_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text(PLUGIN)
    monkeypatch.setenv("GYMPOSIUM_ALLOW", "gym:*")
    monkeypatch.setenv("GYMPOSIUM_ALLOW_ENV", "HUB_TOKEN")
    monkeypatch.setenv("GYMPOSIUM_DISABLE_PLUGINS", "2048")
    setup = Setup.from_process([tmp_path / "mine.py"])
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GYMPOSIUM_")}
    source = str(Path(__file__).parents[3] / "plugins/gymposium-ray/src")

    def there() -> dict[str, str | list[str]]:
        done = subprocess.run(
            [sys.executable, "-P", "-c", THERE],
            input=pickle.dumps(setup),
            capture_output=True,
            env={**environment, "PYTHONPATH": source, "GYMPOSIUM_PLUGINS": "", "GYMPOSIUM_ALLOW_ENV": "OTHER"},
            check=True,
        )
        found: dict[str, str | list[str]] = json.loads(done.stdout)
        return found

    found = there()
    assert "mine" in found["active"]
    assert "agents" in found["active"]  # the switch of the node had left it out
    assert "2048" not in found["active"]
    assert found["GYMPOSIUM_ALLOW"] == "gym:*"
    assert found["GYMPOSIUM_ALLOW_ENV"] == "HUB_TOKEN"
    assert found["GYMPOSIUM_PLUGIN_FILES"] == str(tmp_path / "mine.py")  # it is at the same path there
    (tmp_path / "mine.py").unlink()
    found = there()
    assert "mine" in found["active"]
    assert str(found["GYMPOSIUM_PLUGIN_FILES"]).endswith("/mine.py")
    assert found["GYMPOSIUM_PLUGIN_FILES"] != str(tmp_path / "mine.py")
