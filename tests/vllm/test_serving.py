"""Sessions answered by a vLLM server use the tokens and logprobs that the learner trains on."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path
from typing import Any

import httpx

from gymposium.http.client import Server as Client, Session
from gymposium.runs.sessions import SessionsFile
from gymposium_agents.engines.vllm.server import Server
from gymposium_train import train
from gymposium_train.config.reading import build_config
from gymposium_train.serving.trajectories import read_group

from .conftest import RANK


def ask(session: Session[Client], messages: list[Any], **more: Any) -> str:
    url = f"{session.base_url}/chat/completions"
    answer = httpx.post(url, json={"messages": messages, **more}, timeout=60, trust_env=False).raise_for_status()
    if not more.get("stream"):
        return str(answer.json()["choices"][0]["message"]["content"])
    events = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: {")]
    return "".join(json.loads(event)["choices"][0]["delta"].get("content", "") for event in events)


def agent(session: Session[Client]) -> float:
    """Three turns of a conversation that grows; the second one is streamed, and the last one ends at a stop text if it
    has one."""
    messages: list[Any] = []
    for more in ({}, {"stream": True}, {"stop": ["a", "e"]}):
        messages.append({"role": "user", "content": f"turn {len(messages)}"})
        messages.append({"role": "assistant", "content": ask(session, messages, **more)})
    assert not {"a", "e"} & {*messages[-1]["content"]}
    return float(sum(len(message["content"]) for message in messages) + session.member)  # replies may have one length


def test_run_learns_from_served_sessions(server: Server, model_directory: Path, tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = build_config(
        {
            "model": {"name": str(model_directory), "tune": "lora", "lora": {"rank": RANK, "alpha": 16}},
            "steps": 2,
            "reward": "posted",
            "engine": {"kind": "vllm", "url": server.url, "staleness": 1},
            "credit": {"kind": "grpo"},
            "source": {"kind": "sessions", "port": port},
            "prompting": {"max_tokens": 8},
            "optimizer": {"learning_rate": 1e-2, "precision": "fp32"},
        }
    )
    run = threading.Thread(target=train, args=[config], kwargs={"out": tmp_path / "run"})
    run.start()
    with Client(f"http://127.0.0.1:{port}") as client:
        for step in (1, 2):
            client.play(agent, groups=2, size=3)
            assert client.status()["requests"] == {"fresh": 6 * step, "grown": 12 * step}
            metrics = client.train()
            assert metrics["train/rows"] == 6, "one row for each session"
            assert metrics["train/mismatch_kl"] < 1e-6
    run.join(120)
    assert not run.is_alive()
    file = SessionsFile(tmp_path / "run" / "sessions.sqlite", read_only=True)
    versions = {
        turn.trace.completion.policy.version
        for group in file.groups()
        for trajectory in read_group(file, group.key).trajectories
        for turn in trajectory.turns
    }
    assert len(versions) == 2, "the second step was played by the policy that had learned from the first"
    file.close()
