"""Ctrl-C in the real command: the step finishes and writes a checkpoint for --resume."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gymposium.records import verify_file
from gymposium_train import Callback
from gymposium_train.config.directory import RunDirectory
from gymposium_train.config.writing import config_to_toml
from gymposium_train.run.checkpoints import STATE, list_complete_checkpoints
from gymposium_train.run.start import resume_run, start_run

NO_CURVE = ("evaluation.every=0", "evaluation.curve_matches=")


def test_ctrl_c_finishes_the_step(tmp_path: Path, quick_config: Any) -> None:
    config = tmp_path / "run.toml"
    config.write_text(config_to_toml(quick_config("steps=40", "checkpoints.every=40", *NO_CURVE)))
    command = [sys.executable, "-m", "gymposium.cli.main", "train", str(config), "--out", str(tmp_path / "run")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("Training: 4/"):
                process.send_signal(signal.SIGINT)
                break
        rest = process.stderr.read()
    assert process.returncode == 130, rest
    assert f"--resume {tmp_path / 'run'}" in rest
    run = RunDirectory(tmp_path / "run")
    _, kept = sorted(run.checkpoints.iterdir())  # the first is of before the first step
    done = int(kept.name.removeprefix("step-"))
    assert [m["step"] for m in run.metrics() if m["stage"] == "train"] == list(range(1, done + 1))
    assert "trained" not in run.results()["evaluations"]
    verification = verify_file(run.matches("train"))
    assert verification.problems == []
    assert verification.matches >= 16 * done


@pytest.mark.parametrize("used", [100.0, pytest.param(900.0, marks=pytest.mark.slow)])
def test_resumed_run_uses_its_remaining_budget(tmp_path: Path, quick_config: Any, used: float) -> None:
    """Whatever it has used, the next step is assumed to take as long as the last one, not as all steps so far."""
    steps: list[int] = []

    class Stop(Callback):
        def on_step(self, step: int, metrics: Any) -> None:
            steps.append(step)
            raise KeyboardInterrupt

    without = ("steps", "rollout.growth", "evaluation.curve_matches")
    config = quick_config("budget=1000", "control=false", "evaluation.every=0", without=without)
    with pytest.raises(KeyboardInterrupt):
        start_run(tmp_path / "run", config, [Stop()])
    newest = list_complete_checkpoints(RunDirectory(tmp_path / "run").checkpoints)[-1]
    state = json.loads((newest / STATE).read_text(encoding="utf-8"))
    (newest / STATE).write_text(json.dumps({**state, "cpu_seconds": used}), encoding="utf-8")
    with pytest.raises(KeyboardInterrupt):
        resume_run(tmp_path / "run", [Stop()])
    assert steps == [1, 2]


def test_resumed_run_continues_with_matches_in_flight(tmp_path: Path, quick_config: Any) -> None:
    class Stop(Callback):
        def on_step(self, step: int, metrics: Any) -> None:
            raise KeyboardInterrupt

    config = quick_config("engine.kind=own", "engine.staleness=1", "steps=3", *NO_CURVE)
    run = RunDirectory(tmp_path / "run")
    for step in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            (resume_run(run.path, [Stop()]) if run.config_file.exists() else start_run(run.path, config, [Stop()]))
        state = json.loads((list_complete_checkpoints(run.checkpoints)[-1] / STATE).read_text(encoding="utf-8"))
        assert [*state["training"]["rollouts"]["open"]] == [str(n) for n in (step, step + 1) if n < 3]
    resume_run(run.path)
    trained = [entry for entry in run.metrics() if entry["stage"] == "train"]
    assert [entry["step"] for entry in trained] == [1, 2, 3]
    assert [entry["rollout/staleness"] for entry in trained] == [0, 1, 1]
    assert verify_file(run.matches("train")).problems == []
