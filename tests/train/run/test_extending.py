"""A finished run continues to a new bound."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from gymposium.errors import BadOption
from gymposium.records import Record, read_records
from gymposium.runs.run import Run
from gymposium_train import Callback, train
from gymposium_train.config.directory import RunDirectory
from gymposium_train.config.problems import BadConfig
from gymposium_train.run import extending
from gymposium_train.run.start import resume_run, start_run

SAME_AT_ANY_LENGTH = ("optimizer.schedule=constant", "rollout.growth=1", "kl.weight=0")
"""Without schedules, the first steps of a long run are those of a short one."""
SHORT = ("cold_start.steps=4", "cold_start.matches=16", "rollout.group_size=4", "evaluation.every=1", "control=true")


class StopAfter(Callback):
    def __init__(self, step: int) -> None:
        self._step = step

    def on_step(self, step: int, metrics: Any) -> None:
        if step == self._step:
            raise KeyboardInterrupt


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, quick_config: Any) -> Path:
    config = quick_config(*SAME_AT_ANY_LENGTH, *SHORT, "steps=2")
    return start_run(tmp_path_factory.mktemp("runs") / "short", config).path


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> RunDirectory:
    shutil.copytree(finished, tmp_path / "run")
    return RunDirectory(tmp_path / "run")


def weights(run: RunDirectory) -> bytes:
    return (run.adapter / "adapter_model.safetensors").read_bytes()


def scores(run: RunDirectory) -> dict[str, Any]:
    evaluations = run.results()["evaluations"]
    of_game = {what: evaluations[what]["kuhn_poker"]["random"] for what in ("cold start", "trained", "anchor random")}
    return {what: (score["return"], score["results"], score["counts"]) for what, score in of_game.items()}


def curve(run: RunDirectory) -> dict[int, float]:
    name = "eval/kuhn_poker/random/return"
    return {m["step"]: m[name] for m in run.metrics() if m["stage"] == "train" and name in m}


def match_lines(run: RunDirectory, model: str) -> list[str]:
    found = [record for _, record in read_records(run.matches("eval")) if isinstance(record, Record)]
    return sorted(json.dumps([r.id, r.events, r.returns]) for r in found if r.id.startswith(f"{model}-"))


def check_equal(run: RunDirectory, whole: RunDirectory) -> None:
    """The model, its evaluation and the verdict are those of a run with this bound."""
    assert RunDirectory.open(run.path)[1] == RunDirectory.open(whole.path)[1]
    assert weights(run) == weights(whole)
    assert scores(run) == scores(whole)
    assert curve(run) == curve(whole)
    assert match_lines(run, "trained") == match_lines(whole, "trained")
    for name in ("steps", "kept_step", "ranges", "optima"):
        assert run.results()[name] == whole.results()[name]
    assert run.results()["gains"]["cold start"] == whole.results()["gains"]["cold start"]
    assert Run("run", run.path).finished


@pytest.mark.slow
def test_killed_extension_equals_a_longer_run(run: RunDirectory, tmp_path: Path, quick_config: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        train(resume=run.path, steps=4, callbacks=[StopAfter(3)])
    assert not Run("run", run.path).finished
    assert set(run.results()["evaluations"]) == {"cold start", "anchor random"}
    resume_run(run.path)
    whole = start_run(tmp_path / "whole", quick_config(*SAME_AT_ANY_LENGTH, *SHORT, "steps=4"))
    check_equal(run, whole)
    progress = [m["train/progress"] for m in run.metrics() if m["stage"] == "train"]
    assert progress == pytest.approx([0, 1, 2 / 3, 1])  # of two steps, then of four
    results = run.results()
    assert results["control_cpu_seconds"] >= results["train_cpu_seconds"]  # the control was repeated
    assert len(match_lines(run, "control")) == 8


@pytest.mark.parametrize("operation", ["drop_results", "replace_text"])
def test_extension_killed_before_it_is_written_changes_nothing(
    run: RunDirectory, finished: Path, operation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(extending, operation, fail)
        with pytest.raises(KeyboardInterrupt):
            train(resume=run.path, steps=4)
    resume_run(run.path)
    check_equal(run, RunDirectory(finished))


def test_run_extends_to_a_budget(run: RunDirectory) -> None:
    results = run.results()
    budget = results["cold_start_cpu_seconds"] + results["train_cpu_seconds"] + 0.01
    train(resume=run.path, budget=budget)
    after = run.results()
    assert after["steps"] > results["steps"]
    assert after["cold_start_cpu_seconds"] + after["train_cpu_seconds"] >= budget
    config = RunDirectory.open(run.path)[1]
    assert (config.steps, config.budget) == (None, budget)


def test_bound_must_be_beyond_what_is_done(run: RunDirectory) -> None:
    files = {file: file.read_bytes() for file in run.path.rglob("*") if file.is_file()}
    with pytest.raises(BadConfig, match=re.escape("steps = 2: the run has already taken 2 steps. Set more.")):
        train(resume=run.path, steps=2)
    with pytest.raises(BadConfig, match=r"budget = 0\.01: the run has already used .* CPU seconds"):
        train(resume=run.path, budget=0.01)
    with pytest.raises(BadConfig, match="steps"):
        train(resume=run.path, steps=-1)
    with pytest.raises(BadOption, match="both end the run"):
        train(resume=run.path, steps=8, budget=9.0)
    assert {file: file.read_bytes() for file in run.path.rglob("*") if file.is_file()} == files


def test_run_cannot_be_extended_after_its_teacher(run: RunDirectory) -> None:
    config = json.loads(run.config_file.read_text())
    config |= {"teacher": "cfr-5", "credit": {"kind": "off"}, "control": False}
    run.config_file.write_text(json.dumps(config))
    [file] = run.checkpoints.glob("step-*2/state.json")
    state = json.loads(file.read_text())
    state["training"]["distillation_weight"] = 0.0
    file.write_text(json.dumps(state))
    with pytest.raises(BadOption, match="learns only from its teacher"):
        train(resume=run.path, steps=3)


def test_run_without_checkpoints_cannot_be_extended(run: RunDirectory) -> None:
    shutil.rmtree(run.checkpoints)
    with pytest.raises(BadOption, match="no checkpoint to continue from"):
        train(resume=run.path, steps=4)
    assert run.adapter.is_dir()
