"""The metrics reference lists exactly the metrics of runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from gymposium.runs.metric_docs import find_metric, load_metrics
from gymposium_agents.chat.settings import PlayerSettings
from gymposium_train.run.start import start_run

EVERYTHING = (
    "stages=[{opponents={random=1.0, self=1.0, past=1.0}, window=4}]",
    "rollout.groups=6",
    "pool.every=1",
    "credit.kind=gae",
    "overlong.mode=mask",
    "entropy.weight=0.01",
    "legality.weight=0.1",
    "kl.weight=0.01",
    "sft.weight=0.1",
    "sft.batch=8",
    "cold_start.matches=60",
    "cold_start.steps=70",
    "evaluation.every=1",
    "steps=3",
    "control=true",
)
"""All that adds metrics of its own."""
REPLACING = ("rollout.replace_tied=1", "steps=1", "evaluation.every=0", "evaluation.curve_matches=")
"""What `EVERYTHING` conflicts with."""


@pytest.fixture(scope="module")
def run_metrics(tmp_path_factory: pytest.TempPathFactory, quick_config: Any, model_directory: Path) -> set[str]:
    """All names in the metrics of runs that together have every metric."""
    folder = tmp_path_factory.mktemp("runs")
    chats = folder / "chats.jsonl"
    lines = [
        {"messages": [{"role": "user", "content": f"{n}"}, {"role": "assistant", "content": "b2"}]} for n in range(9)
    ]
    chats.write_text("".join(json.dumps(line) + "\n" for line in lines))
    epochs = (
        "steps=0",
        "cold_start.steps=",
        "cold_start.keep=",
        f'cold_start.data=["{chats}"]',
        "cold_start.epochs=1",
        "cold_start.validation=0.5",
    )
    random_play = ("cold_start.matches=", "cold_start.keep=")
    taught = ("teacher=cfr-5", "steps=1", "cold_start.steps=40", *random_play)
    pretrained = folder / "pretrained"
    shutil.copytree(model_directory, pretrained, ignore=shutil.ignore_patterns(PlayerSettings.FILE))
    tokens = (f"teacher=lm:{pretrained}", f"model.name={pretrained}", "credit.kind=off", "steps=1")
    settings = {"all": EVERYTHING, "epochs": epochs, "replacing": REPLACING, "taught": taught}
    configs = {name: quick_config(*more) for name, more in settings.items()}
    configs["tokens"] = quick_config(*tokens, without=("model.small", "cold_start"))
    runs = [start_run(folder / name, config) for name, config in configs.items()]
    return {name for run in runs for entry in run.metrics() for name in entry} - {"stage", "step"}


@pytest.mark.slow
def test_every_metric_is_documented(run_metrics: set[str]) -> None:
    assert sorted(name for name in run_metrics if find_metric(name) is None) == []


@pytest.mark.slow
def test_every_documented_metric_exists(run_metrics: set[str]) -> None:
    found = {find_metric(name) for name in run_metrics}
    of_a_gpu = [] if torch.cuda.is_available() else ["perf/memory_device"]
    of_sessions = ["rollout/overridden"]  # tests/train/serving/test_source.py
    assert sorted(metric.name for metric in load_metrics() if metric not in found) == of_a_gpu + of_sessions
