"""Runs that learn on the service: on a game, in a world, and from served sessions."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from gymposium.http.client import Server as Served, Session
from gymposium_train import train
from gymposium_train.config.directory import RunDirectory
from gymposium_train.config.reading import build_config

from .runs import guess_world, make_config, make_settings
from .stand_in.app import KEY
from .stand_in.running import Server
from .stand_in.service import StandIn


def list_learned_steps(run: RunDirectory) -> list[dict[str, Any]]:
    """The metrics of the steps that had rows to learn from."""
    return [entry for entry in run.metrics() if entry["stage"] == "train" and entry["train/rows"]]


def test_run_learns_a_game(player_model: Path, server: Server, service: StandIn, tmp_path: Path) -> None:
    run = train(make_config(player_model, server.url, evaluation={"every": 3}), out=tmp_path / "run")
    steps = list_learned_steps(run)
    assert len(steps) >= 2
    assert all(entry["train/first_log_ratio"] < 5e-6 for entry in steps)
    assert all(entry["sync/canary"] < 5e-6 for entry in steps)
    assert steps[-1]["train/policy_version"] == len(steps)
    assert {"importance_sampling", "optim_step"} <= {kind for kind, _ in service.asked}
    assert run.results()["evaluations"].keys() >= {"cold start", "trained", "anchor random"}
    saved = json.loads((run.adapter / "tinker.json").read_text())
    assert saved["path"] in service.states
    assert saved["sampler"] in service.snapshots
    assert run.report.is_file()


def test_key_is_sent_to_the_service_but_never_written(
    player_model: Path, server: Server, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    train(make_config(player_model, server.url, steps=1), out=tmp_path / "run")
    assert server.unauthorized == 0
    assert KEY not in "".join(capfd.readouterr())
    for file in (file for file in tmp_path.rglob("*") if file.is_file()):
        assert KEY.encode() not in file.read_bytes(), file


def test_cold_start_trains_the_same_lora(
    model_directory: Path, server: Server, service: StandIn, tmp_path: Path
) -> None:
    cold = {"steps": 30, "batch": 16, "matches": 60, "learning_rate": 2e-2}
    config = make_config(
        model_directory, server.url, cold_start=cold, prompting={"prompt": "compact", "reply": "move", "max_tokens": 4}
    )
    run = train(config, out=tmp_path / "run")
    losses = [entry["train/sft_loss"] for entry in run.metrics() if entry["stage"] == "cold_start"]
    assert len(losses) == 30
    assert losses[-1] < 0.7 * losses[0]
    assert [kind for kind, _ in service.asked].count("cross_entropy") == 30 * 4  # 16 lessons are four requests
    state = json.loads((run.cold_start / "tinker.json").read_text())["path"]
    assert state in service.states


def test_versions_are_kept_as_opponents(player_model: Path, server: Server, service: StandIn, tmp_path: Path) -> None:
    stages = [{"opponents": {"random": 1.0, "self": 1.0, "past": 2.0}}]
    config = make_config(player_model, server.url, stages=stages, pool={"every": 1}, credit={"kind": "rae"})
    run = train(config, out=tmp_path / "run")
    names = {path.rpartition("/")[2] for path in service.snapshots}
    assert names >= {"learner-v0", "learner-v1", "result"}
    players = {name for line in run.matches("train").read_text().splitlines() for name in json.loads(line)["players"]}
    assert any("learner-v0" in name for name in players)


def test_rollouts_run_ahead_of_updates(player_model: Path, server: Server, tmp_path: Path) -> None:
    engine = {"kind": "tinker", "staleness": 1, "schedule": "streaming"}
    run = train(make_config(player_model, server.url, engine=engine, steps=4), out=tmp_path / "run")
    assert {entry["rollout/staleness"] for entry in run.metrics() if entry["stage"] == "train"} == {0, 1}


def test_run_learns_a_world(player_model: Path, server: Server, tmp_path: Path) -> None:
    with guess_world(tmp_path) as world:
        config = make_config(player_model, server.url, games=[world], prompting={"context": "full"}, steps=4)
        run = train(config, out=tmp_path / "run")
    steps = list_learned_steps(run)
    assert steps
    assert all(entry["train/first_log_ratio"] < 5e-6 for entry in steps)


def agent(session: Session[Served]) -> dict[str, Any]:
    """An agent for which short replies are good."""
    length = 0
    messages: list[dict[str, str]] = []
    for turn in range(2):
        messages.append({"role": "user", "content": f"task {session.seed % 7}, turn {turn}"})
        answer = httpx.post(f"{session.base_url}/chat/completions", json={"model": "any", "messages": messages})
        messages.append({"role": "assistant", "content": answer.json()["choices"][0]["message"]["content"]})
        length += answer.json()["usage"]["completion_tokens"]
    return {"reward": -float(length) - session.member}


def test_run_learns_from_served_sessions(player_model: Path, server: Server, service: StandIn, tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    settings = make_settings(
        player_model,
        server.url,
        steps=2,
        reward="posted",
        engine={"kind": "tinker", "staleness": 1},
        source={"kind": "sessions", "port": port},
        prompting={"max_tokens": 6},
        checkpoints={"keep": 5},
    )
    del settings["games"], settings["rollout"], settings["evaluation"]
    config = build_config(settings | {"rollout": {"group_size": 3}})
    failed: list[BaseException] = []

    def run() -> None:
        try:
            train(config, out=tmp_path / "run")
        except BaseException as error:  # noqa: BLE001 - the test asserts on it
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    with Served(f"http://127.0.0.1:{port}") as served:
        served.play(agent, groups=2, size=3)
        first = served.train()
        promoted = served.request("POST", "/v1/checkpoints/0/promote")
        served.play(agent, groups=2, size=3)
        second = served.train()
    thread.join(60)
    assert not failed
    assert first["train/rows"] == second["train/rows"] == 6, "one row for each session"
    assert first["train/first_log_ratio"] < 5e-6
    assert second["train/policy_version"] > first["train/policy_version"]
    exported = json.loads((Path(promoted["directory"]) / "tinker.json").read_text())["sampler"]
    untrained = [weights for name, weights in service.snapshots[exported].weights.items() if "lora_B" in name]
    assert untrained
    assert not any(weights.any() for weights in untrained)
