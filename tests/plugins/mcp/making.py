"""Files of worlds, and games of them, for tests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gymposium.games.registry import find_spec
from gymposium.tasks import ToolGame
from gymposium.tasks.running import start_coroutine
from gymposium.tasks.tools import Call
from gymposium_mcp.server import get_server
from gymposium_mcp.settings import read_world
from gymposium_mcp.world import game as make_game

RAW = ["python", str(Path(__file__).parent / "raw_server.py")]


def write_world(folder: Path, **changes: dict[str, Any] | None) -> Path:
    """Write the files of a world into a folder. `changes` replace keys of its tables, or a whole table by None."""
    tables: dict[str, dict[str, Any]] = {
        "server": {"command": RAW},
        "tools": {"allow": ["echo", "misbehave"], "max_calls": 4},
        "questions": {"train": "train.jsonl"},
    }
    lines = []
    for name, keys in tables.items():
        change = changes.get(name, {})
        if change is not None:
            merged = {key: value for key, value in {**keys, **change}.items() if value is not None}
            lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in merged.items())]
    (folder / "train.jsonl").write_text('{"question": "Two and two?", "answer": 4}\n', encoding="utf-8")
    (folder / "description.txt").write_text("Return the text.", encoding="utf-8")
    file = folder / "world.toml"
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


@contextmanager
def playing(file: Path) -> Iterator[ToolGame]:
    """The game of a file, whose server ends with the block."""
    made = make_game(find_spec("mcp"), {"file": str(file), "split": "train"})
    try:
        yield made
    finally:
        start_coroutine(get_server(read_world(file)).close()).result()


def call(name: str, text: str) -> str:
    """The move that calls a tool with a text."""
    return Call(name, {"text": text}).json
