"""Ctrl-C in the real command: the step is completed, and a checkpoint is written from which --resume continues."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from gymposium.records import verify_file
from gymposium_train.config.directory import RunDirectory
from gymposium_train.config.writing import as_toml

NO_CURVE = ("evaluation.every=0", "evaluation.curve_matches=")


def test_ctrl_c_waits_for_the_end_of_a_step(tmp_path: Path, quick_config: Any) -> None:
    config = tmp_path / "run.toml"
    config.write_text(as_toml(quick_config("steps=200", "checkpoints.every=200", *NO_CURVE)))
    command = [sys.executable, "-m", "gymposium.cli.main", "train", str(config), "--out", str(tmp_path / "run")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("Training: 10/"):
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
