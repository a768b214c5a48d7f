"""Killed runs and failing services: results match an uninterrupted run."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from gymposium.errors import GymposiumError
from gymposium_train import train
from gymposium_train.config.directory import RunDirectory
from gymposium_train.config.writing import config_to_json

from .runs import make_config
from .stand_in.running import Faults, Server, running
from .stand_in.service import StandIn

TABLES: dict[str, Any] = {
    "steps": 4,
    "optimizer": {"epochs": 2, "minibatches": 2, "target_kl": 0.0},
    "objective": {"kind": "ppo"},
    "kl": {"weight": 0.05, "estimator": "k2", "refresh": 2},
}
MEASURED = ("perf/", "sync/")
"""The beginnings of the names of metrics that are not the same twice."""


def numbers(run: RunDirectory) -> list[dict[str, Any]]:
    return [{name: value for name, value in entry.items() if not name.startswith(MEASURED)} for entry in run.metrics()]


def matches(run: RunDirectory) -> set[str]:
    """The records of all matches, without seconds. Players are named by the run's directory."""
    text = run.matches("train").read_text().replace(str(run.path), "run")
    return {*re.sub(r'"seconds":[^,}]*', "", text).splitlines()}


@pytest.fixture(scope="module")
def uninterrupted(player_model: Path, tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """A run whose service never failed."""
    with pytest.MonkeyPatch.context() as patch, running(StandIn({str(player_model): 256})) as server:
        patch.setenv("TINKER_API_KEY", "tml-stand-in")
        patch.setenv("TINKER_TELEMETRY", "0")
        return train(make_config(player_model, server.url, **TABLES), out=tmp_path_factory.mktemp("straight") / "run")


def test_killed_and_resumed_run_matches_an_uninterrupted_one(
    player_model: Path, uninterrupted: RunDirectory, server: Server, tmp_path: Path
) -> None:
    """It is killed while it samples for its third step, and again during the update of the last one."""
    (tmp_path / "config.json").write_text(config_to_json(make_config(player_model, server.url, **TABLES)))
    run = RunDirectory(tmp_path / "run")
    started = ["train", str(tmp_path / "config.json"), "--out", str(run.path)]
    for step, path, arguments in ((2, "asample", started), (3, "optim_step", ["train", "--resume", str(run.path)])):
        process = subprocess.Popen(
            [Path(sys.executable).with_name("gymposium"), *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

        def kill(asked: str, step: int = step, path: str = path, process: subprocess.Popen[bytes] = process) -> None:
            if asked.endswith(path) and (run.checkpoints / f"step-{step:05d}").is_dir():
                os.kill(process.pid, signal.SIGKILL)

        server.on_request = kill
        try:
            assert process.wait(600) == -signal.SIGKILL
        finally:
            process.kill()
        server.on_request = lambda path: None
        assert len(run.metrics()) == step
    train(resume=run.path)
    assert numbers(run) == numbers(uninterrupted)
    assert matches(run) == matches(uninterrupted)


def test_service_failures_change_nothing(
    player_model: Path, uninterrupted: RunDirectory, server: Server, faults: Faults, tmp_path: Path
) -> None:
    """Refusals, errors, and answers that are lost after the work is done, for each kind of request."""
    faults.plan = {
        "create_session": [503],
        "create_model": ["lost"],
        "forward_backward": [429, "lost", 500],
        "optim_step": [503, "lost"],
        "save_weights": [429, "lost"],
        "save_weights_for_sampler": [500, "lost"],
        "load_weights": ["lost"],
        "asample": [429, 502, "lost"],
        "retrieve_future": [500, 429, 503, "lost"],
    }
    planned = sum(map(len, faults.plan.values()))
    run = train(make_config(player_model, server.url, **TABLES), out=tmp_path / "run")
    assert len(faults.met) == planned
    assert numbers(run) == numbers(uninterrupted)
    assert matches(run) == matches(uninterrupted)


def test_service_restarts_change_nothing(
    player_model: Path, uninterrupted: RunDirectory, server: Server, tmp_path: Path
) -> None:
    """The server breaks off all connections, while it samples and while it learns, and comes back."""
    wanted, restarts = ["asample", "optim_step"], list[threading.Thread]()

    def restart() -> None:
        server.stop()
        server.start()

    def asked(path: str) -> None:
        if wanted and path.endswith(wanted[0]) and (tmp_path / "run" / "checkpoints" / "step-00001").is_dir():
            wanted.pop(0)
            restarts.append(threading.Thread(target=restart))
            restarts[-1].start()

    server.on_request = asked
    run = train(make_config(player_model, server.url, **TABLES), out=tmp_path / "run")
    for thread in restarts:
        thread.join()
    assert len(restarts) == 2
    assert numbers(run) == numbers(uninterrupted)
    assert matches(run) == matches(uninterrupted)


def test_lost_model_ends_a_resumable_run(
    player_model: Path, uninterrupted: RunDirectory, server: Server, service: StandIn, tmp_path: Path
) -> None:
    """The models of all sessions are gone, as after a long interruption, and what was saved is there."""

    def lose(path: str) -> None:
        if path.endswith("optim_step") and (tmp_path / "run" / "checkpoints" / "step-00002").is_dir():
            service.models.clear()
            server.on_request = lambda path: None

    server.on_request = lose
    with pytest.raises(GymposiumError, match=r"A request to the Tinker service failed.*--resume"):
        train(make_config(player_model, server.url, **TABLES), out=tmp_path / "run")
    run = train(resume=tmp_path / "run")
    assert numbers(run) == numbers(uninterrupted)
