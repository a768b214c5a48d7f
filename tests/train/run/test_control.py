"""The control after reinforcement learning: its budget, and Ctrl-C while it trains."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from gymposium.records import verify_file
from gymposium.runs.curves import CONTROL
from gymposium_train.config.directory import RunDirectory, is_complete
from gymposium_train.run import control
from gymposium_train.run.start import resume_run, start_run

NO_CURVE = ("evaluation.every=0", "evaluation.curve_matches=")


@pytest.mark.slow
def test_ctrl_c_stops_the_control_after_a_step_and_resume_repeats_it(
    tmp_path: Path, quick_config: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = quick_config(
        "steps=1", "control=true", "cold_start.steps=5", "evaluation.every=0", "evaluation.curve_matches="
    )
    run = RunDirectory(tmp_path / "run")

    def press_ctrl_c(metrics: Any) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        return ""

    with monkeypatch.context() as patched:
        patched.setattr(control, "summarize_metrics", press_ctrl_c)
        with pytest.raises(KeyboardInterrupt):
            start_run(run.path, config)
    assert list_control_steps(run) == [1]
    assert not is_complete(run.control)
    stopped = run.results()
    assert "control_cpu_seconds" not in stopped
    assert set(stopped["gains"]) == {"cold start"}  # training is already judged

    resume_run(run.path)
    resumed = run.results()
    assert resumed["evaluations"]["trained"] == stopped["evaluations"]["trained"]
    assert set(resumed["evaluations"]["control"]["kuhn_poker"]) == {"random"}
    assert set(resumed["gains"]) == {"cold start", "control"}
    assert resumed["control_cpu_seconds"] >= resumed["train_cpu_seconds"] == stopped["train_cpu_seconds"]
    steps = list_control_steps(run)
    assert steps == [*range(1, len(steps) + 1)]
    assert not verify_file(run.matches("control")).problems


def list_control_steps(run: RunDirectory) -> list[int]:
    return [metrics["step"] for metrics in run.metrics() if metrics["stage"] == CONTROL]
