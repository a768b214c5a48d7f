"""TOML and JSON files may start with a byte order mark, which editors on Windows write."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import BaseModel

from gymposium.tasks.questions import QuestionFile
from gymposium.util.json_file import read_model
from gymposium.util.user_file import VARIABLE, load_user_file
from gymposium_agents.chat.settings import PlayerSettings
from gymposium_arena.suite import read_suite
from gymposium_mcp.settings import read_world
from gymposium_train.config.reading import read_config
from gymposium_train.run.lessons.chats import read_chats

SOURCES = Path(__file__).resolve().parents[2]
SUITE = 'name = "s"\nplayers = ["random"]\n[[games]]\nname = "tic_tac_toe"\n'
QUESTION = '{"question": "1+1?", "answer": "2"}\n'
CHAT = json.dumps({"prompt": [{"role": "user", "content": "?"}], "completion": [{"role": "assistant", "content": "b"}]})


class Model(BaseModel):
    """What a JSON file holds."""

    x: int


def _read_user_file(path: Path) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(path))
        return load_user_file().defaults


READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "config.toml": ('games = ["tic_tac_toe"]\n', read_config),
    "config.json": ('{"games": ["tic_tac_toe"]}\n', read_config),
    "suite.toml": (SUITE, read_suite),
    "mine.toml": ("[run]\nseed = 7\n", _read_user_file),
    "world.toml": (
        '[server]\ncommand = ["true"]\n[tools]\nallow = "all"\n[questions]\ntrain = "q.jsonl"\n',
        read_world,
    ),
    "entry.json": ('{"x": 1}\n', lambda path: read_model(path, Model, "model", "Repair it.")),
    "player.json": ('{"reply": "tags"}\n', lambda path: PlayerSettings.beside(path.parent)),
    "q.jsonl": (QUESTION, lambda path: QuestionFile(path).questions),
    "chats.jsonl": (CHAT + "\n", lambda path: read_chats([path], thinking=False)),
}


@pytest.mark.parametrize("name", READERS)
def test_byte_order_mark_does_not_change_a_file(name: str, tmp_path: Path) -> None:
    text, read = READERS[name]
    (tmp_path / name).write_text(text, encoding="utf-8")
    plain = read(tmp_path / name)
    (tmp_path / name).write_text(text, encoding="utf-8-sig")
    assert read(tmp_path / name) == plain


def test_toml_and_json_are_read_through_plain_file() -> None:
    """`gymposium.util.plain_file` removes the mark, and neither waits for a pipe nor reads gigabytes."""
    others = re.compile(r"(?:json\.loads|tomllib\.loads|strict_json|strict_toml)\([^\n]*read_(?:text|bytes)\(")
    files = [*SOURCES.glob("packages/*/src/**/*.py"), *SOURCES.glob("plugins/*/src/**/*.py")]
    assert len(files) > 500
    found = [file.name for file in files if others.search(file.read_text(encoding="utf-8"))]
    assert found == ["first_party.py"], "package data"
