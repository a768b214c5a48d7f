"""Isolation tests: a program tries to escape from a backend, and this module looks for traces."""

from __future__ import annotations

import json
import os
import socket
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gymposium.errors import GymposiumError
from gymposium_trace.running.backends import BACKENDS, Backend
from gymposium_trace.running.limits import Limits
from gymposium_trace.running.runs import Run

_ESCAPES = """
import json, os, socket
port, datagram_port, secret, target, outside = json.loads(input())
tried = {}

def attempt(what, act):
    try:
        tried[what] = act()
    except (OSError, MemoryError, RuntimeError):
        tried[what] = False

def connect():
    with socket.create_connection(("127.0.0.1", port), timeout=2):
        return True

def datagram():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        return out.sendto(b"x", ("127.0.0.1", datagram_port)) > 0

def fork():
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return True

attempt("network", connect)
attempt("datagrams", datagram)
attempt("reading", lambda: open(secret).read() == "secret")
attempt("writing", lambda: bool(os.open(target, os.O_WRONLY | os.O_CREAT)))
attempt("signals", lambda: os.kill(outside, 0) is None)
attempt("processes", fork)
attempt("memory", lambda: len(bytearray(2 * 512 * 2**20)) > 0)
print(json.dumps(tried))
"""

WALLS: Mapping[str, str] = {
    "network": "open a connection",
    "datagrams": "send a datagram",
    "reading": "read your files",
    "writing": "write outside its own folder",
    "signals": "signal your processes",
    "processes": "start a process",
}
"""Kinds of isolation by name, each with the action that it must prevent for programs from a file or a hub."""


@dataclass(frozen=True, slots=True)
class Capability:
    """The capabilities of a backend on this machine."""

    backend: Backend
    works: bool
    reason: str
    """Why the backend does not work, or what it fails to prevent; else empty."""
    lets: tuple[str, ...] = ()
    """The kinds of isolation that failed, as keys of `WALLS`."""

    @property
    def isolates(self) -> bool:
        """Whether the backend may run programs from a file or a hub."""
        return self.works and not self.lets


class NoIsolation(GymposiumError):
    """Error if no backend on this machine provides enough isolation. The message says what to install."""


@cache
def probe_backend(backend: Backend) -> Capability:
    """Test a backend with one program. The result is cached for the process."""
    if missing := backend.missing():
        return Capability(backend, False, missing)
    with (
        tempfile.TemporaryDirectory(prefix="trace-probe-") as folder,
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver,
    ):
        receiver.bind(("127.0.0.1", 0))
        receiver.setblocking(False)
        secret, target = Path(folder) / "secret", Path(folder) / "written"
        secret.write_text("secret", encoding="utf-8")
        ports = [server.getsockname()[1], receiver.getsockname()[1]]
        inputs = json.dumps([*ports, str(secret), str(target), os.getpid()])
        try:
            [run] = backend.run(_ESCAPES, inputs, Limits())
        except OSError as error:
            return Capability(backend, False, f"it could not be started ({error})")
        return _judge(backend, run, written=target.exists(), received=_has_received(receiver))


def _has_received(receiver: socket.socket) -> bool:
    """Return whether a datagram arrived. The program in the sandbox cannot know this."""
    try:
        return bool(receiver.recv(1))
    except BlockingIOError:
        return False


def _judge(backend: Backend, run: Run, *, written: bool, received: bool) -> Capability:
    if complaint := run.complaint():
        return Capability(backend, False, f"a trial run failed: {complaint}")
    try:
        tried = json.loads(run.stdout)
    except ValueError:
        return Capability(backend, False, f"a trial run printed {run.stdout[:200]!r}")
    if tried["memory"]:
        return Capability(backend, False, "its limit of memory does not hold")
    tried["writing"] = tried["writing"] or written
    tried["datagrams"] = received
    lets = tuple(wall for wall in WALLS if tried[wall])
    able = ", ".join(WALLS[wall] for wall in lets)
    return Capability(backend, True, f"a program run so can {able}" if lets else "", lets)


def describe_remedy(backend: Backend) -> str:
    """Return what to install, as a clause, or "" if the backend works."""
    return "" if probe_backend(backend).works else f"; to use it, {backend.install}"


def choose_generated_backend() -> Backend:
    """Return the fastest backend for generated programs. Raises `NoIsolation`."""
    return _choose_backend(
        [(backend, probe_backend(backend).works) for backend in BACKENDS], "Programs cannot be run here."
    )


def choose_untrusted_backend() -> Backend:
    """Return the backend for programs from a file or a hub. Raises `NoIsolation` with what to install."""
    able = [(backend, probe_backend(backend).isolates) for backend in BACKENDS]
    return _choose_backend(
        able, "Programs from a file or a hub are run only in isolation, which no way of running has here."
    )


def _choose_backend(able: list[tuple[Backend, bool]], refusal: str) -> Backend:
    for backend, good in able:
        if good:
            return backend
    reasons = " ".join(f"{b.name}: {probe_backend(b).reason}{describe_remedy(b)}." for b, _ in able)
    raise NoIsolation(f"{refusal} {reasons} `gymposium trace doctor` shows what was tried.")
