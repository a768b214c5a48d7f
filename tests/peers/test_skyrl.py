"""gymposium-tinker on SkyRL's server of the Tinker protocol, with its JAX backend on a CPU: `tox run -e skyrl`."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("tinker", reason="SkyRL is not installed: tox run -e skyrl")

from gymposium_tinker.service import KEY
from gymposium_train import train
from gymposium_train.config import TrainConfig
from gymposium_train.config.reading import build_config, merge_data

PYTHON = Path(os.environ.get("GYMPOSIUM_SKYRL_PYTHON", ""))
"""The Python of the server's environment. SkyRL pins releases that gymposium does not support."""
pytestmark = [
    pytest.mark.filterwarnings("default"),  # of the SDK
    pytest.mark.skipif(not PYTHON.is_file(), reason="SkyRL is not installed: tox run -e skyrl"),
]
TRAIN: dict[str, Any] = {
    "games": ["tic_tac_toe"],
    "seed": 3,
    "steps": 2,
    "credit": {"kind": "grpo"},
    "objective": {"kind": "ppo", "clip_dual": 0.0},
    "kl": {"weight": 0.0},
    "rollout": {"groups": 2, "group_size": 4},
    "evaluation": {"opponents": ["random"], "matches": 2, "every": 0},
}


@pytest.fixture(scope="module")
def player_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small Llama that has imitated random play, so that its replies are legal moves and returns differ."""
    config = build_config(
        {
            "games": ["tic_tac_toe"],
            "seed": 1,
            "steps": 0,
            "model": {
                "small": {"prose": True, "hidden": 32, "heads": 2, "feed_forward": 64, "vocabulary": 384},
                "tune": "full",
            },
            "cold_start": {"steps": 200, "matches": 300, "batch": 32, "learning_rate": 1e-2, "keep": "all"},
            "evaluation": {"opponents": ["random"], "matches": 2, "every": 0},
        }
    )
    return train(config, out=tmp_path_factory.mktemp("taught") / "run").cold_start


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server") / "log"


@pytest.fixture(scope="module")
def address(player_model: Path, log: Path) -> Iterator[str]:
    """The address of a server, which starts its engine with the arguments of the `uv run` above it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    backend = {"max_lora_adapters": 8, "sample_max_num_sequences": 8, "train_micro_batch_size": 8}
    options = {
        "base-model": player_model,
        "backend": "jax",
        "backend-config": json.dumps(backend),
        "checkpoints-base": log.with_name("checkpoints"),
        "database-url": f"sqlite:///{log.with_name('tinker.db')}",
        "host": "127.0.0.1",
        "port": port,
    }
    command = [str(PYTHON.with_name("uv")), "run", "--no-project", "--active", "-m", "skyrl.tinker.api"]
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [*command, *(text for name, value in options.items() for text in (f"--{name}", str(value)))],
            env={**os.environ, "VIRTUAL_ENV": str(PYTHON.parents[1]), "UV_OFFLINE": "1", "JAX_PLATFORMS": "cpu"},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as server,
    ):
        try:
            yield wait_for_server(f"http://127.0.0.1:{port}", server)
        finally:
            os.killpg(server.pid, signal.SIGTERM)


def wait_for_server(address: str, server: subprocess.Popen[bytes]) -> str:
    """The address, once the server answers there."""
    while True:
        try:
            httpx.get(f"{address}/api/v1/healthz", timeout=60).raise_for_status()
        except httpx.ConnectError:
            with pytest.raises(subprocess.TimeoutExpired):  # it has not ended
                server.wait(0.2)
        else:
            return address


@pytest.fixture
def config(player_model: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> TrainConfig:
    monkeypatch.setenv(KEY, "tml-local")
    tables = {
        "model": {"name": str(player_model), "tune": "lora", "lora": {"rank": 4}},
        "backend": {"kind": "tinker", "base_url": address},
    }
    return build_config(merge_data(TRAIN, tables))


def test_two_reinforcement_learning_steps_complete(config: TrainConfig, log: Path, tmp_path: Path) -> None:
    run = train(config, out=tmp_path / "run")
    steps = [entry for entry in run.metrics() if entry["stage"] == "train"]
    assert [entry["step"] for entry in steps] == [1, 2]
    assert all(entry["train/rows"] for entry in steps)
    assert "Applied optimizer step" in log.read_text()
    assert json.loads((run.path / "adapter/tinker.json").read_text()).keys() == {"path", "sampler"}
