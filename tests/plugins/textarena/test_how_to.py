"""Code on the TextArena page and in the plugin's README runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from gymposium.records import verify_file

ta = pytest.importorskip("textarena", reason="textarena is not installed: tox run -e textarena")

from .simple import TextPlayer  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]


def run(page: str) -> dict[str, Any]:
    """What the blocks of a page define, run one after another."""
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    defined: dict[str, Any] = {}
    for block in blocks:
        exec(block, defined)
    return defined


def test_docs_code_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from gymposium.records import RecordWriter

    page = run("docs/how-to/textarena.md")
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith("{0: ")
    assert "Record(" in told[0]
    assert len(told) == 11
    with RecordWriter(tmp_path / "matches.jsonl") as writer:
        writer.write(page["env"].table.played)
        writer.write(page["result"])
    assert verify_file(tmp_path / "matches.jsonl").problems == []
    rewards, _ = page["episode"](TextPlayer(), tmp_path / "episodes.jsonl")
    assert set(rewards) == {0, 1}
    page["check"](tmp_path / "episodes.jsonl")
    assert capsys.readouterr().out == "TicTacToe-v0 is the same\n"


def test_readme_code_runs(capsys: pytest.CaptureFixture[str]) -> None:
    env = run("plugins/gymposium-textarena/README.md")["env"]
    assert env.record().players == ["textarena", "mcts-100"]
    assert "mcts-100" in capsys.readouterr().out
