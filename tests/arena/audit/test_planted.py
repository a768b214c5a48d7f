"""Honest logs agree, and every planted corruption is reported with its file and place."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from gymposium_arena.audit import audit_logs
from gymposium_arena.audit.archives import read_members
from gymposium_arena.audit.budget import Budget

from .planted import PLANTED, Corruption, format_log

LOGS = Path(__file__).parent / "logs"
FILES = {
    "openspiel": "openspiel.jsonl",
    "textarena": "textarena.jsonl",
    "kaggle": "kaggle.jsonl",
    "inspect": "inspect.eval",
}


def honest(form: str) -> list[Any]:
    """The episodes of the committed log of a format, which its library wrote."""
    path = LOGS / FILES[form]
    if form == "inspect":
        pytest.importorskip("zstandard", reason='zstandard is not installed: pip install "gymposium-arena[audit]"')
        return [json.loads(data) for _, data in read_members(path, 10**7, Budget()) if isinstance(data, bytes)]
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def place(form: str, path: Path, number: int, episodes: list[Any]) -> str:
    if form == "inspect":
        return f"{path}: sample {episodes[number]['id']} epoch 1"
    return f"{path}:{number + 1}"


@pytest.mark.parametrize("form", PLANTED)
def test_honest_logs_agree(form: str, tmp_path: Path) -> None:
    episodes = honest(form)
    path = tmp_path / ("log.json" if form == "inspect" else "log.jsonl")
    path.write_text(format_log(form, episodes), encoding="utf-8")
    audit = audit_logs([path])
    assert audit.problems == []
    assert len(audit.records) == len(episodes)
    assert len(PLANTED[form]) == 10
    packed = tmp_path / "packed" / f"{path.name}.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(path.read_bytes()))
    again = audit_logs([packed.parent])
    assert (again.problems, again.records) == ([], audit.records)


def test_stopped_inspect_samples_without_scores_are_unfinished(tmp_path: Path) -> None:
    samples = honest("inspect")
    stopped = {
        **samples[0],
        "store": {},
        "scores": {"outcome": {"value": None}},
        "limit": {"type": "message", "limit": 3},
    }
    failed = {**samples[1], "store": {}, "scores": None, "error": {"message": "no connection"}}
    claims = {**samples[2], "store": {}, "limit": {"type": "message", "limit": 3}}
    path = tmp_path / "log.json"
    path.write_text(format_log("inspect", [stopped, failed, claims]), encoding="utf-8")
    audit = audit_logs([path])
    assert [episode.unfinished for episode in audit.episodes] == [
        "Inspect stopped the sample at its message limit",
        "the sample ended with an error",
        "",
    ]
    [(where, problem)] = audit.problems
    assert where == place("inspect", path, 2, samples)
    assert "its store has no gymposium_record" in problem


@pytest.mark.parametrize(
    ("form", "planted"),
    [pytest.param(form, planted, id=f"{form}-{planted.name}") for form in PLANTED for planted in PLANTED[form]],
)
def test_corruptions_are_reported(form: str, planted: Corruption, tmp_path: Path) -> None:
    episodes = honest(form)
    planted.change(episodes)
    path = tmp_path / ("log.json" if form == "inspect" else "log.jsonl")
    path.write_text(format_log(form, episodes), encoding="utf-8")
    audit = audit_logs([path])
    told = [problem for where, problem in audit.problems if where == place(form, path, planted.at, episodes)]
    assert told, audit.problems
    assert len(audit.problems) == len(told) == 1
    assert re.search(planted.says, told[0]), told
    assert len(audit.records) == len(episodes) - 1


@pytest.mark.parametrize("form", PLANTED)
def test_truncated_files_are_reported(form: str, tmp_path: Path) -> None:
    content = (LOGS / FILES[form]).read_bytes()
    path = tmp_path / FILES[form]
    path.write_bytes(content[: len(content) - 200])
    (problem,) = audit_logs([path]).problems
    assert problem[0].startswith(str(path))
    assert "truncated" in problem[1]
