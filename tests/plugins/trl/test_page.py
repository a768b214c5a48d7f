"""The code of the page `Train with TRL` runs."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest
from trl.chat_template_utils import qwen3_template

from gymposium.records import verify_file
from gymposium_agents.models.loading import LoadedModel

from .runs import QUIET

pytestmark = QUIET

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "train-with-trl.md"


def test_docs_code_runs(
    model_directory: Path, tool_model: LoadedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, tools, environments, reward = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
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
    code = environments.replace(
        'model="Qwen/Qwen2.5-0.5B-Instruct"', "model=model, processing_class=tokenizer"
    ).replace("max_steps=100", "max_steps=2, use_cpu=True, bf16=False, report_to=[]")
    tokenizer = copy.deepcopy(tool_model.chat.tokenizer)
    tokenizer.response_template = qwen3_template
    found |= {"model": copy.deepcopy(tool_model.model), "tokenizer": tokenizer}
    exec(code, found)
    assert {tool.__name__ for tool in found["trainer"].tools} >= {"move", "search_inbox"}
    exec(reward, found)
    [row] = found["brevity"](trajectory=[None])
    assert row is None
