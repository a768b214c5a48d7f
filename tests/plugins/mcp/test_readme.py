"""The server shown in the README needs mcp 1, and the README's command says so."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.mcp.making import playing

from gymposium.tasks.tools import Call

README = Path(__file__).parents[3] / "plugins" / "gymposium-mcp" / "README.md"
SERVER = "mcp-server-sqlite"


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def command() -> list[str]:
    world: dict[str, Any] = tomllib.loads(block("toml"))
    given: list[str] = world["server"]["command"]
    return given


def test_readme_command_pins_mcp_1() -> None:
    assert command()[:4] == ["uvx", "--with", "mcp<2", SERVER]


@pytest.mark.skipif(shutil.which(SERVER) is None, reason=f"{SERVER} is not installed: tox run -e mcp1")
def test_readme_world_is_playable(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "shop.db") as shop:
        shop.execute("CREATE TABLE orders (id INTEGER, month TEXT)")
    shop.close()
    installed = json.dumps(command()[command().index(SERVER) :])
    text = re.sub(r"^command = .*$", f"command = {installed}", block("toml"), flags=re.MULTILINE)
    (tmp_path / "world.toml").write_text(text, encoding="utf-8")
    for name in ("train.jsonl", "test.jsonl"):
        (tmp_path / name).write_text(block("json"), encoding="utf-8")
    with playing(tmp_path / "world.toml") as game:
        match = game.new(0)
        match.apply({0: Call("list_tables", {}).json})
        assert "orders" in match.observe(0).text
