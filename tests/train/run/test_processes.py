"""A run on two processes matches one process, and one process can resume its checkpoints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file
from typer.testing import CliRunner

from gymposium.cli.main import app
from gymposium_train.config import TrainConfig
from gymposium_train.config.directory import RunDirectory
from gymposium_train.config.distributed import check_processes
from gymposium_train.config.problems import BadConfig
from gymposium_train.config.writing import config_to_toml
from gymposium_train.run.start import resume_run, start_run

OVERRIDES = (
    "steps=3",
    "engine.kind=own",
    "optimizer.layout=padded",
    "credit.kind=gae",
    "kl.weight=0.05",
    "kl.refresh=2",
    "sft.weight=0.1",
    "sft.batch=8",
    'evaluation={opponents=["random"],matches=8}',
    "optimizer.learning_rate=1e-3",
)
"""A critic, a reference that moves, imitation beside."""
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--no-python"]
GYMPOSIUM = str(Path(sys.executable).with_name("gymposium"))


def run_on_two_processes(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [*TORCHRUN, GYMPOSIUM, "train", *arguments], capture_output=True, text=True, check=False, env=environment
    )


def list_losses(run: RunDirectory) -> list[dict[str, float]]:
    """The metrics of the steps of reinforcement learning, without times and without the canary."""
    dull = ("perf/", "sync/")
    steps = [entry for entry in run.metrics() if entry["stage"] == "train"]
    return [
        {name: value for name, value in step.items() if isinstance(value, int | float) and not name.startswith(dull)}
        for step in sorted(steps, key=lambda step: int(step["step"]))
    ]


def drop_seconds(data: Any) -> Any:
    if isinstance(data, dict):
        return {name: drop_seconds(value) for name, value in data.items() if "seconds" not in name}
    return data


@pytest.mark.slow
def test_two_processes_match_one(quick_config: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    config: TrainConfig = quick_config(*OVERRIDES)
    alone = start_run(tmp_path / "alone", config)
    file = tmp_path / "config.toml"
    file.write_text(config_to_toml(config), encoding="utf-8")
    done = run_on_two_processes(str(file), "--out", str(tmp_path / "two"), "--json")
    assert done.returncode == 0, done.stderr[-20_000:]
    two = RunDirectory(tmp_path / "two")
    assert "Warning" not in done.stderr  # FSDP2 warns of wrong gradients if a layer returns a view
    assert done.stdout.count('"evaluations"') == 1  # one process says what came of it
    assert json.loads(done.stdout[done.stdout.index("{") :]) == two.results()
    expected, found = list_losses(alone), list_losses(two)
    assert len(found) == 3
    for step, entry in zip(expected, found, strict=True):
        assert entry == pytest.approx(step, rel=1e-3, abs=1e-4)
    assert drop_seconds(two.results()["evaluations"]) == drop_seconds(alone.results()["evaluations"])
    weights = load_file(alone.adapter / "adapter_model.safetensors")
    there = load_file(two.adapter / "adapter_model.safetensors")
    assert weights.keys() == there.keys()
    assert max(float((weights[name] - there[name]).abs().max()) for name in weights) < 1e-4

    # its last checkpoint is lost, and one process alone does the last step again
    (max(two.checkpoints.iterdir()) / "COMPLETE").unlink()
    (two.adapter / "COMPLETE").unlink()
    resume_run(two.path)
    assert "Resuming after step 2" in capfd.readouterr().err
    assert list_losses(two) == [pytest.approx(entry, rel=1e-3, abs=1e-4) for entry in found]


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("engine.kind=shared", "the learner's model is split into parts"),
        ("optimizer.layout=shared", "all processes must run the model equally often"),
        ("model.load=4bit", "cannot be split over processes"),
    ],
)
def test_undistributable_settings_are_refused(
    quick_config: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, override: str, said: str
) -> None:
    name = override.partition("=")[0]
    config = quick_config(*(one for one in OVERRIDES if not one.startswith(name)), override)
    check_processes(config, 1)
    with pytest.raises(BadConfig, match=said):
        check_processes(config, 2)
    check_processes(quick_config(*OVERRIDES), 2)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(BadConfig, match=said):
        start_run(tmp_path / "run", config)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_config_is_checked_before_cluster_processes_start(more: tuple[str, ...]) -> None:
    typed = ["train", "--game", "tic_tac_toe", "--executor", "no_such_cluster", "--processes", "2", *more]
    refused = CliRunner().invoke(app, [*typed, "engine.kind=shared"])
    assert refused.exit_code == 2
    assert "engine.kind = shared: with several processes" in refused.output
    accepted = CliRunner().invoke(app, [*typed, "engine.kind=own"])
    assert accepted.exit_code == 2
    assert "Unknown executor 'no_such_cluster'" in accepted.output
