"""The server shown in the README needs mcp 1, and the README's command gives it an environment of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
from pathlib import Path

import pytest
from tests.plugins.mcp.making import playing

from gymposium.plugins.allowed import VARIABLES
from gymposium.tasks.tools import Call

README = Path(__file__).parents[3] / "plugins" / "gymposium-mcp" / "README.md"


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("uvx") is None, reason="uv is not installed")
def test_readme_world_is_playable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with sqlite3.connect(tmp_path / "shop.db") as shop:
        shop.execute("CREATE TABLE orders (id INTEGER, month TEXT)")
    shop.close()
    passed = [name for name in os.environ if name.startswith(("SSL_CERT_", "UV_"))]  # what uv needs on this machine
    monkeypatch.setenv(VARIABLES, "\n".join(passed))
    world = block("toml").replace("[server]", f"[server]\nenv = {json.dumps(passed)}")
    (tmp_path / "world.toml").write_text(world, encoding="utf-8")
    for name in ("train.jsonl", "test.jsonl"):
        (tmp_path / name).write_text(block("json"), encoding="utf-8")
    with playing(tmp_path / "world.toml") as game:
        match = game.new(0)
        match.apply({0: Call("list_tables", {}).json})
        assert "orders" in match.observe(0).text
