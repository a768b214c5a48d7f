"""The page on Inspect: its code runs in order, and its records verify."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.model import ChatMessage
from inspect_ai.tool import ToolInfo

from gymposium.records import verify_file

from .scripted import legal, legal_moves, scripted

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "evaluate-with-inspect.md"


def last(messages: Sequence[ChatMessage], tools: Sequence[ToolInfo]) -> str:
    return legal_moves(messages[-1].text)[-1]


def test_docs_code_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 3
    names: dict[str, Any] = {
        "model": scripted(legal),
        "other_model": scripted(last),
        "tagging_model": scripted(lambda messages, tools: f"<move>{legal(messages, tools)}</move>"),
    }
    for block in blocks:
        exec(block, names)
    assert re.search(r"\] over 20 deals\n", capsys.readouterr().out)
    checked = verify_file(tmp_path / "matches.jsonl")
    assert (checked.matches, checked.problems) == (20, [])
    assert names["log"].samples[0].messages[0].text == "You play to win."
