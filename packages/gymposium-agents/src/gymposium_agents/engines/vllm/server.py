"""A vLLM server as a child process that ends with the process that started it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from weakref import WeakValueDictionary

import httpx

from gymposium.errors import GymposiumError
from gymposium.util.child_process import make_python_command
from gymposium_agents.engines.futures import wait_for_results
from gymposium_agents.engines.vllm import keeper
from gymposium_agents.engines.vllm.fits import check_heads
from gymposium_agents.engines.vllm.home import EngineHome, find_engine_home
from gymposium_agents.engines.vllm.settings import ServerSettings

READY_SECONDS = 1800.0
"""Time limit for starting a server, in seconds: a large model takes many minutes to load. A server's death is noticed
immediately."""
PROBE_SECONDS = 3.0
"""Time limit of a health check, in seconds."""
MOST_RESTARTS, RESTART_WINDOW_SECONDS = 5, 600.0
"""Maximum number of restarts within a time window, and its length in seconds."""
LONGEST_PAUSE_SECONDS = 30.0
"""Longest pause before a restart, in seconds."""
LOG_LINES, LOOKED_AT = 12, 300
"""Number of final log lines quoted in an error, and number searched for errors: the end of a server's log rarely shows
the cause."""


class Server:
    """A vLLM server owned by this process. Call `start` before use and `stop` afterwards. The server ends with this
    process, even if this process is killed."""

    def __init__(self, settings: ServerSettings, home: EngineHome | None = None) -> None:
        """Raise `GymposiumError` if vLLM is not installed or the settings are not safe."""
        settings.check()
        self.settings = settings
        self.home = home or find_engine_home()
        self.build = str(self.home.require()["build"])
        self.port = settings.port or _find_free_port(settings.host)
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)
        self.url = f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"
        self.log: Path = self.home.logs / f"{self.port}-{time.time_ns() // 1_000_000}.log"
        self.restarts = 0
        """Number of restarts so far."""
        self._keeper: subprocess.Popen[bytes] | None = None
        self._lifeline: int | None = None
        self._recent: deque[float] = deque(maxlen=MOST_RESTARTS)
        self._stopped = threading.Event()
        self._one_at_a_time = threading.RLock()

    @property
    def alive(self) -> bool:
        """True while the server's process exists. The server may not answer yet."""
        return self._keeper is not None and self._keeper.poll() is None

    @property
    def group(self) -> int | None:
        """The id of the process group with all of the server's processes, or None before the start."""
        return None if self._keeper is None else self._keeper.pid

    def answers(self) -> bool:
        """Return True if the server's process exists and reports that it is healthy."""
        return self.alive and is_healthy(self.url)

    def start(self) -> None:
        """Start the server and wait until it answers. Raises `GymposiumError` with the end of its log if it does not
        answer. Also raises it, before the start, for a model that this build of vLLM cannot serve."""
        if self.build == "cpu":
            check_heads(self.settings.model)
        with self._one_at_a_time:
            _check_free(self.settings.host, self.port)
            self._spawn()
        _SERVERS[self.url] = self

    def restart(self) -> None:
        """Stop the server and start it again, after a delay that grows with the number of recent restarts.

        Raises `GymposiumError` after too many recent restarts, or if the server does not answer."""
        with self._one_at_a_time:
            self._end()
            now = time.monotonic()
            recent = [moment for moment in self._recent if now - moment < RESTART_WINDOW_SECONDS]
            if len(recent) == MOST_RESTARTS:
                raise GymposiumError(
                    f"The vLLM server died {MOST_RESTARTS + 1} times in {RESTART_WINDOW_SECONDS / 60:.0f} minutes and "
                    f"is not restarted. {self._read_log_end()}"
                )
            self._recent.append(now)
            if recent:
                self._stopped.wait(min(2.0 ** len(recent), LONGEST_PAUSE_SECONDS))
            self.restarts += 1
            self._spawn()

    def revive(self) -> None:
        """Restart the server unless it answers. Several threads may call this when they find it dead."""
        with self._one_at_a_time:
            if not self.answers():
                self.restart()

    def stop(self) -> None:
        """Stop the server with all its processes. It cannot be started again."""
        self._stopped.set()
        with self._one_at_a_time:
            self._end()

    def _spawn(self) -> None:
        """Start the process and wait until it answers."""
        if self._stopped.is_set():
            raise GymposiumError(f"The vLLM server of {self.settings.model} was stopped. Start another one.")
        command = self.settings.command(str(self.home.python), self.build, self.port)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        read_end, write_end = os.pipe()
        try:
            with self.log.open("ab") as log:
                self._keeper = subprocess.Popen(
                    make_python_command("-I", str(Path(keeper.__file__)), *command),
                    stdin=read_end,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env=self.settings.environment(os.environ, self.build),
                    start_new_session=True,
                )
        finally:
            os.close(read_end)
        self._lifeline = write_end
        deadline = time.monotonic() + READY_SECONDS
        while not self.answers():
            if self._stopped.is_set():
                raise GymposiumError(
                    f"The vLLM server of {self.settings.model} was stopped before it was ready. Start another one."
                )
            if not self.alive:
                raise GymposiumError(f"The vLLM server died before it was ready. {self._read_log_end()}")
            if time.monotonic() > deadline:
                self._end()
                raise GymposiumError(
                    f"The vLLM server did not answer within {READY_SECONDS:.0f} seconds. {self._read_log_end()}"
                )
            self._stopped.wait(0.2)

    def _end(self) -> None:
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None
        if self._keeper is not None:
            try:
                self._keeper.wait(2 * keeper.GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                self._keeper.kill()
                self._keeper.wait()
            with suppress(ProcessLookupError):  # if the keeper was killed, the server is still running
                os.killpg(self._keeper.pid, signal.SIGKILL)
            self._keeper = None

    def _read_log_end(self) -> str:
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        errors = [line for line in lines[-LOOKED_AT:] if re.search(r"\w(Error|Exception): ", line)]
        return f"The end of its log ({self.log}):\n" + "\n".join([*errors[-3:], *lines[-LOG_LINES:]])


_SERVERS: WeakValueDictionary[str, Server] = WeakValueDictionary()
"""The servers started by this process, by URL."""


def find_own_server(url: str) -> Server | None:
    """Return the server at `url` if this process started it and still refers to it, else None."""
    return _SERVERS.get(url)


@contextmanager
def run_server(settings: ServerSettings, home: EngineHome | None = None) -> Iterator[Server]:
    """Run a server inside the block. Yields it when it answers."""
    with run_servers([settings], home) as [server]:
        yield server


@contextmanager
def run_servers(settings: Sequence[ServerSettings], home: EngineHome | None = None) -> Iterator[list[Server]]:
    """Run servers inside the block. They start concurrently. Yields them when all answer. If one does not start, all
    are stopped, and its error is raised."""
    servers: list[Server] = []
    for one in settings:
        server = Server(one, home)
        while not one.port and server.port in {other.port for other in servers}:  # none of them is listening yet
            server = Server(one, home)
        servers.append(server)
    with ThreadPoolExecutor(2 * len(servers)) as threads:  # the start of a server continues while it is being stopped
        try:
            wait_for_results([threads.submit(server.start) for server in servers])
            yield servers
        finally:
            wait_for_results([threads.submit(server.stop) for server in servers])


def is_healthy(url: str) -> bool:
    """Return True if a server answers at `url` and reports that it is healthy."""
    try:
        return httpx.get(f"{url}/health", timeout=PROBE_SECONDS, trust_env=False).is_success
    except httpx.TransportError:
        return False


def _find_free_port(host: str) -> int:
    with _open_socket(host) as free:
        free.bind((host, 0))
        return int(free.getsockname()[1])


def _check_free(host: str, port: int) -> None:
    """Raise `GymposiumError` if the port is in use, because the other server's answers would be mistaken for the new
    server's."""
    with _open_socket(host) as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            free.bind((host, port))
        except OSError as error:
            raise GymposiumError(
                f"Port {port} of {host} is not available ({error.strerror}). Choose another one with --port, or stop "
                f"what listens there. gymposium engine status lists the running servers."
            ) from error


def _open_socket(host: str) -> socket.socket:
    return socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
