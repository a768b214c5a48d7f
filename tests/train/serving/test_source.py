"""A run that learns from sessions, with the real server, client and openai library."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from openai import OpenAI

from gymposium.errors import GymposiumError
from gymposium.http.client import EmptyStep, Server, ServerError, Session
from gymposium.runs.sessions import SessionsFile
from gymposium_agents.lora.attach import attach_lora
from gymposium_agents.models.loading import LoadedModel, load_model
from gymposium_train import train
from gymposium_train.config import Optimizer, TrainConfig
from gymposium_train.config.directory import RunDirectory
from gymposium_train.config.reading import build_config
from gymposium_train.learner import LocalLearner
from gymposium_train.learner.rows import make_rows
from gymposium_train.serving.trajectories import read_group


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def make_config(directory: Path, port: int, **more: Any) -> TrainConfig:
    return build_config(
        {
            "model": {"name": str(directory), "tune": "full", **more.pop("model", {})},
            "steps": 2,
            "seed": 5,
            "reward": "posted",
            "engine": {"kind": "own", "staleness": 1},
            "credit": {"kind": "grpo"},
            "source": {"kind": "sessions", "port": port, **more.pop("source", {})},
            "rollout": {"group_size": 3},
            "prompting": {"max_tokens": 6},
            "optimizer": {"learning_rate": 1e-2},
            **more,
        }
    )


@contextmanager
def served(config: TrainConfig, out: Path) -> Iterator[list[BaseException]]:
    """The run in a thread. It has ended after the block, and the list has the error that ended it."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            train(config, out=out)
        except BaseException as error:  # noqa: BLE001 - the test asserts on it
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    yield failed
    thread.join(60)
    assert not thread.is_alive()


def agent(session: Session[Server]) -> dict[str, Any]:
    """An agent whose history grows. Short replies are good."""
    model = OpenAI(base_url=session.base_url, api_key="none")
    messages: list[Any] = []
    length = 0
    for turn in range(3):
        messages.append({"role": "user", "content": f"task {session.seed % 7}, turn {turn}"})
        answer = model.chat.completions.create(model="any", messages=messages, top_p=0.9 if turn == 2 else None)
        messages.append(answer.choices[0].message.model_dump(exclude_none=True))
        length += answer.usage.completion_tokens if answer.usage else 0
    return {"reward": -float(length) - session.member, "parts": {"length": float(length)}}


@pytest.mark.slow
def test_unlearnable_groups_are_dropped(model_directory: Path, tmp_path: Path) -> None:
    port, out = free_port(), tmp_path / "run"
    with served(make_config(model_directory, port), out) as failed, Server(f"http://127.0.0.1:{port}") as server:
        server.play(agent, groups=2, size=3)
        file = SessionsFile(out / "sessions.sqlite")
        bad, good = (group.key for group in file.groups(state="complete"))
        for row, reward in zip(file.sessions(bad), (1e308, 1.7e308, -1e308), strict=True):  # as in files of old runs
            file.set_session(row.id, "ended", ending={**(row.ending or {}), "reward": reward})
        assert server.train()["rollout/groups"] == 1
        why = "cannot learn from its sessions: reward: give a number from -1e+09 to 1e+09, not 1e+308."
        assert [(group.key, group.state, group.why) for group in file.groups(job=1)] == [
            (bad, "dropped", why),
            (good, "learned", ""),
        ]
        server.play(agent, groups=1, size=3)
        [only] = (group.key for group in file.groups(state="complete"))
        for row in file.sessions(only):
            file.set_session(row.id, "ended", ending={**(row.ending or {}), "reward": "much"})
        with pytest.raises(EmptyStep, match=r"cannot learn from"):
            server.train()
        file.close()
    assert not failed
    assert RunDirectory(out).results()["steps"] == 2


@pytest.mark.parametrize("tune", [pytest.param("full", marks=pytest.mark.slow), "lora"])
def test_run_learns_from_client_sessions(model_directory: Path, tmp_path: Path, tune: str) -> None:
    port, out = free_port(), tmp_path / "run"
    config = make_config(
        model_directory, port, model={"tune": tune, **({"lora": {"rank": 4}} if tune == "lora" else {})}
    )
    with served(config, out) as failed, Server(f"http://127.0.0.1:{port}") as server:
        rewards = server.play(agent, groups=2, size=3)
        assert len(rewards) == 6
        first = server.train()
        server.play(agent, groups=2, size=3)
        second = server.train()
    assert not failed
    assert first["train/rows"] == second["train/rows"] == 6, "one row for each session"
    assert first["train/mismatch_kl"] < 1e-10
    assert first["rollout/overridden"] == pytest.approx(1 / 3)
    assert second["train/policy_version"] > first["train/policy_version"]
    run = RunDirectory(out)
    assert run.results()["steps"] == 2
    assert (run.model if tune == "full" else run.adapter).is_dir()
    assert run.report.is_file()
    lines = [json.loads(line) for line in run.metrics_file.read_text().splitlines()]
    assert [line["rollout/reward/length"] > 0 for line in lines] == [True, True]

    file = SessionsFile(out / "sessions.sqlite", read_only=True)
    assert file.counts()["groups"] == {"learned": 4}
    kept = load_model(model_directory)
    model: Any = kept.model
    if tune == "lora":
        model = attach_lora(model, rank=4, alpha=8, seed=0)
    learner = LocalLearner(LoadedModel(model, kept.chat).model.train(), kept.pad, Optimizer(precision="fp32"))
    for group in (read_group(file, group.key) for group in file.groups(job=1)):
        for trajectory in group.trajectories:
            (row,) = make_rows([turn.trace for turn in trajectory.turns])
            for span in row.spans:
                prompt, sampled = row.ids[: span.start], row.ids[span.start : span.stop]
                (scored,) = learner.score([(prompt, sampled)])
                assert scored == pytest.approx(span.engine, abs=1e-5)
    file.close()


@pytest.mark.slow
def test_checkpoint_can_be_promoted_to_a_model(model_directory: Path, tmp_path: Path) -> None:
    port, out = free_port(), tmp_path / "run"
    with (
        served(make_config(model_directory, port, checkpoints={"every": 1}), out),
        Server(f"http://127.0.0.1:{port}") as server,
    ):
        server.play(agent, groups=1, size=3)
        server.train()
        assert {"step": 1, "promoted": False} in server.request("GET", "/v1/checkpoints")
        promoted = server.request("POST", "/v1/checkpoints/1/promote", {})
        with pytest.raises(ServerError, match="404: No checkpoint of step 7"):
            server.request("POST", "/v1/checkpoints/7/promote", {})
        server.play(agent, groups=1, size=3)
        server.train()
    before, kept = load_model(model_directory), load_model(promoted["directory"])
    name = next(iter(dict(before.model.named_parameters())))
    assert not before.model.state_dict()[name].equal(kept.model.state_dict()[name])


@pytest.mark.slow
def test_command_agents_are_scored_by_a_function(model_directory: Path, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(
        "import os\n"
        "from openai import OpenAI\n"
        "seed = os.environ['GYMPOSIUM_SEED']\n"
        "answer = OpenAI().chat.completions.create(model='x', messages=[{'role': 'user', 'content': seed}])\n"
        "print(len(answer.choices[0].message.content or ''))\n"
    )
    (tmp_path / "rewards.py").write_text(
        "def score(ran):\n"
        "    (messages,) = ran.conversations\n"
        "    assert messages[0] == {'role': 'user', 'content': str(ran.seed)}\n"
        "    assert len(messages[1]['content']) == int(ran.output)\n"
        "    return {'reward': -float(ran.output), 'parts': {'length': float(ran.output)}}\n"
    )
    command = f"{sys.executable} {tmp_path / 'agent.py'}"
    source = {"run": command, "scores": f"{tmp_path / 'rewards.py'}:score", "groups": 1, "at_once": 3}
    config = make_config(model_directory, free_port(), steps=1, source=source)
    run = train(config, out=tmp_path / "run")
    assert run.results()["steps"] == 1
    file = SessionsFile(tmp_path / "run" / "sessions.sqlite", read_only=True)
    assert file.counts()["groups"]["learned"] == 1
    file.close()


def test_command_agents_reach_only_their_session(model_directory: Path, tmp_path: Path) -> None:
    """A command that could begin sessions would also end them, and so choose what is learned from."""
    (tmp_path / "agent.py").write_text(
        "import os, httpx\n"
        "base = os.environ['OPENAI_BASE_URL']\n"
        "root = base.partition('/s/')[0]\n"
        "hello = {'messages': [{'role': 'user', 'content': 'hello'}]}\n"
        "print(httpx.post(f'{base}/chat/completions', json=hello, timeout=60).status_code)\n"
        "asked = [('POST', '/v1/sessions'), ('POST', '/v1/groups'), ('POST', '/v1/train'), ('GET', '/v1/status'),\n"
        "         ('GET', '/v1/events'), ('POST', '/v1/checkpoints/1/promote'), ('POST', '/v1/sessions/x/end')]\n"
        "for method, path in asked:\n"
        "    body = {'group': 'mine'} if path == '/v1/sessions' else {}\n"
        "    with httpx.stream(method, root + path, json=body, timeout=60) as answer:\n"
        "        print(answer.status_code)\n"
    )
    (tmp_path / "rewards.py").write_text(
        "def score(ran):\n    assert ran.output.split() == ['200', *['401'] * 7], ran.output\n    return 0.5\n"
    )
    command = f"{sys.executable} {tmp_path / 'agent.py'}"
    source = {"run": command, "scores": f"{tmp_path / 'rewards.py'}:score", "groups": 1}
    config = make_config(model_directory, free_port(), steps=1, source=source, rollout={"group_size": 2})
    assert train(config, out=tmp_path / "run").results()["steps"] == 1


def test_command_agents_on_public_hosts_require_a_token(
    model_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GYMPOSIUM_SERVE_TOKEN", raising=False)
    source = {"run": sys.executable, "scores": "math:sqrt", "groups": 1, "host": "0.0.0.0"}
    with pytest.raises(GymposiumError, match="needs a token"):
        train(make_config(model_directory, 0, source=source), out=tmp_path / "run")


def test_failing_command_ends_the_run_with_its_error(model_directory: Path, tmp_path: Path) -> None:
    (tmp_path / "rewards.py").write_text("def score(ran):\n    return 0.0\n")
    source = {
        "run": f"{sys.executable} -c \"raise SystemExit('no such game')\"",
        "scores": f"{tmp_path / 'rewards.py'}:score",
        "groups": 1,
    }
    with pytest.raises(GymposiumError, match="failed with exit status 1: no such game"):
        train(make_config(model_directory, free_port(), source=source), out=tmp_path / "run")
