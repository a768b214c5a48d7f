"""The page on training a custom agent: its code runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gymposium_agents.serving import messages, responses
from gymposium_agents.serving.requests import PARAMETERS
from gymposium_train.config.directory import RunDirectory

from .test_source import free_port, make_config, served

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "how-to" / "train-your-own-agent.md"


@pytest.mark.slow
def test_docs_agent_plays_and_is_trained(model_directory: Path, tmp_path: Path) -> None:
    name, *_ = re.findall(r"\{literalinclude\} (\S+)", PAGE.read_text(encoding="utf-8"))
    port = free_port()
    with served(make_config(model_directory, port, steps=1), tmp_path / "run") as failed:
        done = subprocess.run(
            [sys.executable, (PAGE.parent / name).resolve(), "1", f"http://127.0.0.1:{port}"],
            env={**os.environ, "GYMPOSIUM_SERVE_TOKEN": ""},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"step 1: reward [+-]\d\.\d\d\n", done.stdout)
    assert not failed
    assert RunDirectory(tmp_path / "run").results()["steps"] == 1


def test_docs_list_the_policy_of_each_field() -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*) \| (honored|overridden|refused) \|", page, re.MULTILINE)
    listed = {name: policy for names, policy in rows for name in re.findall(r"`([\w.]+)`", names)}
    (translated,) = re.findall(r"^\| in chat completions \|.*?\n\n", page, re.MULTILINE | re.DOTALL)
    mapped = {*re.findall(r"`([\w.]+)`", translated), "input"}
    policies = {**messages.PARAMETERS, **responses.PARAMETERS, **PARAMETERS}
    assert listed == {name: parameter.policy for name, parameter in policies.items() if name in listed}
    assert policies.keys() - listed.keys() <= mapped


def test_docs_scoring_function_works() -> None:
    from gymposium_train.serving.commands import CommandResult

    (code,) = re.findall(r"```python\n(def score.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    defined: dict[str, object] = {}
    exec(code, defined)
    score = defined["score"]
    assert callable(score)
    assert score(CommandResult(seed=1, output="42\n", conversations=[])) == 1.0
