"""The control in a separate process, concurrent with reinforcement learning."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from gymposium.errors import GymposiumError
from gymposium.records import verify_file
from gymposium_train.config import TrainConfig
from gymposium_train.config.directory import RunDirectory, is_complete
from gymposium_train.run import beside
from gymposium_train.run.start import resume_run, start_run

BUDGET = 3.0


@pytest.fixture
def config(quick_config: Any, monkeypatch: pytest.MonkeyPatch) -> TrainConfig:
    """A run with a budget and a control, on a machine with two cores."""
    monkeypatch.setattr(beside, "_count_cores", lambda: 2)
    config: TrainConfig = quick_config(
        f"budget={BUDGET}", "control=true", "cold_start.steps=5", without=("steps", "rollout.growth")
    )
    return config


@pytest.fixture
def started_processes(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes that are started."""
    found: list[subprocess.Popen[bytes]] = []

    class RecordingPopen(subprocess.Popen[bytes]):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            found.append(self)

    monkeypatch.setattr(beside.subprocess, "Popen", RecordingPopen)
    return found


def test_control_process_stops_and_resumes_with_the_run(
    config: TrainConfig,
    started_processes: list[subprocess.Popen[bytes]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stopped(run: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("gymposium_train.run.start.reinforce_policy", stopped)
        with pytest.raises(KeyboardInterrupt):
            start_run(tmp_path / "run", config)
    (process,) = started_processes
    assert process.returncode != 0
    run = RunDirectory(tmp_path / "run")
    assert not is_complete(run.control)
    resume_run(run.path)
    assert [process.returncode for process in started_processes[1:]] == [0]
    assert is_complete(run.control)
    results = run.results()
    assert set(results["evaluations"]["control"]["kuhn_poker"]) == {"random"}
    assert results["control_cpu_seconds"] + results["cold_start_cpu_seconds"] >= BUDGET
    steps = [metrics for metrics in run.metrics() if metrics["stage"] == "control"]
    assert [metrics["step"] for metrics in steps] == [*range(1, len(steps) + 1)]
    assert all(metrics["train/sft_loss"] > 0.0 for metrics in steps)
    assert not (run.control / "steps.json").exists()
    assert not verify_file(run.matches("control")).problems


def test_failed_control_is_reported_and_repeated_on_resume(
    config: TrainConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(beside, "_CALL", "import no_such_module")
        with pytest.raises(GymposiumError, match=r"The control failed .*No module named"):
            start_run(tmp_path / "run", config)
    assert "control" in resume_run(tmp_path / "run").results()["evaluations"]


@pytest.mark.parametrize("settings", [("control=false", "budget=1"), ("control=true", "steps=1")])
def test_no_process_without_a_control_or_budget(
    started_processes: list[subprocess.Popen[bytes]], tmp_path: Path, settings: tuple[str, str], quick_config: Any
) -> None:
    without = ("steps", "rollout.growth") if "steps=1" not in settings else ()
    start_run(tmp_path / "run", quick_config("cold_start.steps=2", *settings, without=without))
    assert not started_processes
