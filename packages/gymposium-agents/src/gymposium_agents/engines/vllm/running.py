"""Which servers `gymposium engine start` looks after: one small file for each, in the engine's home."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from gymposium.errors import GymposiumError
from gymposium_agents.engines.vllm.home import EngineHome
from gymposium_agents.engines.vllm.server import Server, is_healthy

STOP_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Running:
    """A server that somebody looks after."""

    url: str
    port: int
    model: str
    lora_rank: int
    log: str
    pid: int
    """Of the process that looks after it."""
    began: str
    """What the system notes of when that process began, so that a later one of the same number is told apart."""

    @property
    def alive(self) -> bool:
        return _began(self.pid) == self.began


@contextmanager
def noted(server: Server, home: EngineHome) -> Iterator[Running]:
    """A note of `server` for as long as the block lasts.

    Raises `GymposiumError` where another server has the port, one that is still loading included: it does not listen
    yet, so the system would let both have it, and the answers of one would be taken for the other's."""
    for other in running_servers(home):
        if other.port == server.port:
            raise GymposiumError(
                f"A server of {other.model} runs on port {other.port} already: use that one, end it with  gymposium "
                f"engine stop --port {other.port}  or take another port with --port."
            )
    home.running.mkdir(parents=True, exist_ok=True)
    settings, pid = server.settings, os.getpid()
    running = Running(
        server.url, server.port, settings.model, settings.lora_rank, str(server.log), pid, _began(pid) or ""
    )
    file = home.running / f"{server.port}.json"
    file.write_text(json.dumps(asdict(running), indent=2) + "\n", encoding="utf-8")
    try:
        yield running
    finally:
        file.unlink(missing_ok=True)


def running_servers(home: EngineHome) -> list[Running]:
    """All that run, by port. Notes that a killed process left behind are removed."""
    found = []
    for file in sorted(home.running.glob("*.json")):
        running = Running(**json.loads(file.read_text(encoding="utf-8")))
        if running.alive:
            found.append(running)
        else:
            file.unlink(missing_ok=True)
    return found


def answers(running: Running) -> bool:
    """Whether the server itself says that it is well."""
    return is_healthy(running.url)


def end(running: Running) -> None:
    """Have its keeper end it, and wait until it is gone. Raises `GymposiumError` where it stays."""
    os.kill(running.pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while running.alive:
        if time.monotonic() > deadline:
            raise GymposiumError(f"The server at {running.url} did not end within {STOP_SECONDS:.0f} seconds.")
        time.sleep(0.1)


def _began(pid: int) -> str | None:
    """When the process began, in ticks since boot; None where there is no such process, or only its remains."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]
