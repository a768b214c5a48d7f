"""Several torchrun processes train through a vLLM server that the first one starts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gymposium_train.config.directory import RunDirectory

TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--no-python"]
GYMPOSIUM = str(Path(sys.executable).with_name("gymposium"))


@pytest.mark.slow
def test_two_processes_train_with_their_own_server(model_directory: Path, tmp_path: Path) -> None:
    """The server must not get torchrun's variables."""
    settings = {
        "model.name": str(model_directory),
        "model.tune": "lora",
        "model.lora.rank": 8,
        "engine.kind": "vllm",
        "engine.schedule": "streaming",
        "optimizer.layout": "padded",
        "cold_start.steps": 0,
        "steps": 1,
        "rollout.groups": 2,
        "rollout.group_size": 4,
        "rollout.growth": 1,
        "evaluation.every": 0,
        "evaluation.matches": 4,
        "evaluation.opponents": '["random"]',
    }
    overrides = [f"{name}={value}" for name, value in settings.items()]
    train = [GYMPOSIUM, "train", "--game", "kuhn_poker", "--out", str(tmp_path / "run"), *overrides]
    done = subprocess.run([*TORCHRUN, *train], capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-20_000:]
    results = RunDirectory(tmp_path / "run").results()
    assert results["train_cpu_seconds"] > 0, json.dumps(results)
