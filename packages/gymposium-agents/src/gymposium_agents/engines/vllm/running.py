"""Notes of servers run by `gymposium engine start`, one small file per server in the engine's home."""

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
from gymposium.plugins.command_line import format_command_line
from gymposium.util.durable import replace_text
from gymposium.util.plain_file import read_plain_text
from gymposium.util.strict_json import parse_strict_json
from gymposium_agents.engines.vllm.home import EngineHome
from gymposium_agents.engines.vllm.server import Server, is_healthy

STOP_SECONDS = 60.0
"""Time limit for stopping a server, in seconds."""


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server run by a `gymposium engine start` process."""

    url: str
    port: int
    model: str
    lora_rank: int
    log: str
    """The path of the server's log."""
    pid: int
    """The id of the process that runs the server."""
    began: str
    """The start time of that process as reported by the system. It distinguishes the process from a later one with the
    same id."""

    @property
    def alive(self) -> bool:
        """True while the process that runs the server exists."""
        return _read_start_time(self.pid) == self.began


@contextmanager
def keep_note(server: Server, home: EngineHome) -> Iterator[RunningServer]:
    """Keep a note of `server` inside the block.

    Raises `GymposiumError` if another server has the port, even one that is still loading. It does not listen yet, so
    the system would give the port to both, and their answers would be confused."""
    for other in list_running_servers(home):
        if other.port == server.port:
            raise GymposiumError(
                f"A server of {other.model} already runs on port {other.port}. Use that one, stop it with  "
                f"{format_command_line('engine', 'stop', '--port', str(other.port))}  or choose another port "
                f"with --port."
            )
    home.running.mkdir(parents=True, exist_ok=True)
    settings, pid = server.settings, os.getpid()
    running = RunningServer(
        server.url, server.port, settings.model, settings.lora_rank, str(server.log), pid, _read_start_time(pid) or ""
    )
    file = home.running / f"{server.port}.json"
    replace_text(file, json.dumps(asdict(running), indent=2) + "\n")
    try:
        yield running
    finally:
        file.unlink(missing_ok=True)


def list_running_servers(home: EngineHome) -> list[RunningServer]:
    """Return the running servers, in the order of their notes. Notes of killed processes are removed."""
    servers = []
    for file in sorted(home.running.glob("*.json")):
        running = RunningServer(**parse_strict_json(read_plain_text(file)))
        if running.alive:
            servers.append(running)
        else:
            file.unlink(missing_ok=True)
    return servers


def is_answering(running: RunningServer) -> bool:
    """Return True if the server answers and reports that it is healthy."""
    return is_healthy(running.url)


def end_server(running: RunningServer) -> None:
    """Stop a server through the process that runs it, and wait until it has ended. Raises `GymposiumError` if it does
    not end in time."""
    os.kill(running.pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while running.alive:
        if time.monotonic() > deadline:
            raise GymposiumError(
                f"The server at {running.url} did not end within {STOP_SECONDS:.0f} seconds. Kill its process: kill -9 "
                f"{running.pid}"
            )
        time.sleep(0.1)


def _read_start_time(pid: int) -> str | None:
    """Return the start time of a process, in ticks since boot, or None if it does not exist or is a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]
