"""The code of the page `Train with TRL` runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from gymposium.records import verify_file

from .runs import QUIET

pytestmark = QUIET

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "train-with-trl.md"


def test_docs_code_runs(model_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, tools, reward = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    code, changed = first, 0
    for written, tried in (
        ("Qwen/Qwen2.5-0.5B-Instruct", str(model_directory)),
        ('opponents="mcts-100"', 'opponents="mcts-5", prompt="compact"'),
        ("max_steps=100", 'max_steps=2, use_cpu=True, bf16=False, report_to=[], save_strategy="no"'),
    ):
        changed += code.count(written)
        code = code.replace(written, tried)
    assert changed == 3
    found: dict[str, Any] = {}
    exec(code, found)
    assert found["trainer"].state.global_step == 2
    verified = verify_file("goofspiel.jsonl")
    assert (verified.matches, verified.problems) == (32, [])

    exec(tools, found)
    assert found["rollout"].settings.reply == "tools"
    exec(reward, found)
    [row] = found["brevity"](trajectory=[None])
    assert row is None
