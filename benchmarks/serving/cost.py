"""What HTTP, client and server cost beside the engine, how requests are batched, and how soon a stream begins.

The server is in this process, so that the CPU time of the engine's thread can be taken off, and the clients in another.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import enumerate as threads_of_process
from typing import Any

import httpx
from openai import OpenAI

from benchmarks.serving.running import ENVIRONMENT, free_port
from benchmarks.serving.talking import TURNS
from gymposium.http.client import Server
from gymposium.runs.sessions import SessionsFile
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.settings import PlayerSettings
from gymposium_agents.chat.tokens import Completion, Sampling, TokenRequest
from gymposium_agents.engines.vllm.engine import VllmEngine
from gymposium_agents.engines.vllm.server import run_server
from gymposium_agents.engines.vllm.settings import SERVED_NAME, ServerSettings
from gymposium_agents.engines.vllm.wire import make_completion_body
from gymposium_agents.models.loading import load_chat, load_model
from gymposium_agents.players.player import make_engine_player
from gymposium_train.config import TrainConfig
from gymposium_train.serving.learner import Policies
from gymposium_train.serving.server import serve
from gymposium_train.serving.service import Service, make_service
from gymposium_train.serving.settings import SessionSettings

FIRST = 50
"""Number of streams whose first token is timed."""


@dataclass
class TimedEngine:
    """An engine that notes when it samples the first token of a request that is watched."""

    engine: Any
    first: float = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    def generate(self, requests: list[TokenRequest], sampling: Sampling) -> list[Completion]:
        for request in requests:
            if (watch := request.watch) is not None:
                request.watch = self._noting(watch)
        completions: list[Completion] = self.engine.generate(requests, sampling)
        return completions

    def _noting(self, watch: Any) -> Any:
        begun = False

        def noted(token: int) -> bool:
            nonlocal begun
            if not begun:
                begun, self.first = True, time.perf_counter()
            stops: bool = watch(token)
            return stops

        return noted


@contextmanager
def serving(chat: Chat, engine: Any, max_tokens: int) -> Iterator[tuple[str, Service]]:
    """Start a server in this process, for sessions that are not trained on."""
    player = make_engine_player("lm:m", engine, chat, PlayerSettings(temperature=1.0, max_tokens=max_tokens))
    settings = SessionSettings(port=free_port())
    with TemporaryDirectory() as home:
        policies = Policies(lambda: player, lambda policy: player)
        service = make_service(SessionsFile(Path(home, "sessions.sqlite")), policies, settings, seed=0, group_size=2)
        service.learner.step = 0
        with serve(service, settings, Path(home), TrainConfig(games=("tic_tac_toe",)), None) as address:
            yield address, service
        service.close()


def measured(model: Path, sessions: int, at_once: int) -> dict[str, Any]:
    """Return the figures of this many sessions, with some of them at once."""
    loaded = load_model(model)
    with serving(loaded.chat, loaded.engine(), 12) as (address, service):
        with Server(address) as server:  # so that the engine's thread is there
            OpenAI(base_url=server.session().base_url, api_key="none").chat.completions.create(
                model="m", messages=[{"role": "user", "content": "Hello"}]
            )
        before, begun = _engine_seconds(), time.process_time()
        batches = next(iter(service.sessions._batches.values()))
        made, asked = batches.batches, batches.requests
        arguments = [sys.executable, "-m", "benchmarks.serving.talking", address, str(sessions), str(at_once)]
        done = subprocess.run(arguments, env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True, check=True)
        clients = json.loads(done.stdout)
        server_seconds = time.process_time() - begun - (_engine_seconds() - before)
        turns = (sessions + 1) * TURNS
        return {
            "sessions": sessions,
            "at once": at_once,
            "turns": turns,
            "errors": clients["errors"],
            "CPU ms a turn of server and HTTP, beside the engine": 1e3 * server_seconds / turns,
            "CPU ms a turn of the client": 1e3 * clients["cpu"] / (sessions * TURNS),
            "requests in a batch": (batches.requests - asked) / (batches.batches - made),
        }


def first_tokens(model: Path) -> dict[str, Any]:
    """Return the time from the engine's first token to the client, of streams one after the other."""
    loaded = load_model(model)
    engine = TimedEngine(loaded.engine())
    late = []
    with serving(loaded.chat, engine, 40) as (address, _), Server(address) as server:
        client = OpenAI(base_url=address, api_key="none")
        for number in range(FIRST):
            _, at = _first_content(server, client, number)
            late.append(at - engine.first)
    return {"streams": len(late), "median ms": 1e3 * median(late), "worst ms": 1e3 * max(late)}


def first_tokens_of_vllm(model: Path) -> dict[str, Any]:
    """Return the time from a request to the first token: of a vLLM server asked directly, and of a session that it
    answers, by turns."""
    chat = load_chat(model)
    direct, session = [], []
    with (
        run_server(ServerSettings(str(model), kv_cache_gib=1)) as vllm,
        VllmEngine(vllm.url, model=str(model), stops=chat.stops) as engine,
        serving(chat, engine, 40) as (address, _),
        Server(address) as server,
        httpx.Client(base_url=vllm.url, trust_env=False) as http,
    ):
        client = OpenAI(base_url=address, api_key="none")
        for number in range(2 * FIRST):
            if number % 2:
                begun, at = _first_content(server, client, number)
                session.append(at - begun)
            else:
                begun = time.perf_counter()
                request = TokenRequest(chat.conversation(_messages(number)), random.Random(number))
                body = make_completion_body(
                    request, Sampling(max_tokens=40), max_tokens=40, stops=chat.stops, seeded=True
                )
                with http.stream("POST", "/v1/completions", json={**body, "model": SERVED_NAME, "stream": True}) as got:
                    next(line for line in got.iter_lines() if line.startswith("data: "))
                    direct.append(time.perf_counter() - begun)
    found = {
        "streams": len(session),
        "vLLM, median ms": 1e3 * median(direct),
        "session, median ms": 1e3 * median(session),
    }
    return {**found, "difference ms": 1e3 * (median(session) - median(direct))}


def _first_content(server: Server, client: OpenAI, number: int) -> tuple[float, float]:
    """Ask for a stream in a new session: the times of the request and of its first content."""
    session = server.session()
    one = client.with_options(base_url=session.base_url)
    begun = time.perf_counter()
    for chunk in one.chat.completions.create(model="m", messages=_messages(number), stream=True):
        if chunk.choices and chunk.choices[0].delta.content:
            at = time.perf_counter()
            session.drop()
            return begun, at
    raise RuntimeError("a stream without content")


def _messages(number: int) -> list[Any]:
    return [{"role": "user", "content": f"Turn {number % 10}: x . o . x . o . ."}]


def _engine_seconds() -> float:
    """Return the CPU seconds of the engine's threads."""
    clocks = [
        time.pthread_getcpuclockid(thread.ident)
        for thread in threads_of_process()
        if thread.name == "batches" and thread.ident is not None
    ]
    return sum(map(time.clock_gettime, clocks))
