"""Sessions that a vLLM server answers: tokens and log-probabilities are those that the learner learns from."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Any

import httpx

from gymposium.client import Server as Client, Session
from gymposium.runs.sessions import SessionsFile
from gymposium_agents.engines.vllm.server import Server
from gymposium_train import train
from gymposium_train.config.reading import config_from
from gymposium_train.serving.trajectories import group_of

from .conftest import RANK


def ask(session: Session[Client], messages: list[Any], **more: Any) -> Any:
    url = f"{session.base_url}/chat/completions"
    answer = httpx.post(url, json={"messages": messages, **more}, timeout=60, trust_env=False)
    return answer.raise_for_status().json()["choices"][0]


def agent(session: Session[Client]) -> float:
    """Three turns of a conversation that grows; the last reply ends at a stop text if it has one."""
    messages: list[Any] = []
    length = 0
    for turn in range(3):
        messages.append({"role": "user", "content": f"turn {turn}"})
        choice = ask(session, messages, **({"stop": ["a", "e"]} if turn == 2 else {}))
        messages.append({"role": "assistant", "content": choice["message"]["content"]})
        length += len(choice["message"]["content"])
    assert not {"a", "e"} & {*messages[-1]["content"]}
    return float(length + session.member)  # replies may have one length


def test_a_run_learns_from_sessions_that_a_server_answers(
    server: Server, model_directory: Path, tmp_path: Path
) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = config_from(
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
        for _ in range(2):
            client.play(agent, groups=2, size=3)
            metrics = client.train()
            assert metrics["train/rows"] == 6, "one row for each session"
            assert metrics["train/mismatch_kl"] < 1e-6
        assert client.status()["requests"] == {"fresh": 12, "grown": 24}
    run.join(120)
    assert not run.is_alive()
    file = SessionsFile(tmp_path / "run" / "sessions.sqlite", read_only=True)
    versions = {
        turn.trace.completion.policy.version
        for group in file.groups()
        for trajectory in group_of(file, group.key).trajectories
        for turn in trajectory.turns
    }
    assert len(versions) == 2, "the second step was played by the policy that had learned from the first"
    file.close()
