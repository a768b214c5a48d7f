"""One rank of a command that runs in several processes: starting it, reading its output and ending it. Independent of
Ray."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path
from threading import Event, Lock
from typing import IO

from gymposium.util.child_process import make_python_command, make_python_environment
from gymposium_ray.node_setup import Setup

CHUNK = 65_536
"""Maximum number of bytes of output read at a time."""
GRACE = 10.0
"""Seconds before a rank's processes are killed after SIGTERM."""


class Rank:
    """The process of one rank. Its output streams and its end can be awaited in separate threads."""

    def __init__(self, setup: Setup) -> None:
        """Set up this process. The rank's process inherits the setup."""
        setup.apply()
        self._process: subprocess.Popen[bytes] | None = None
        self._reaping, self._reaped = Lock(), Event()

    def find_free_port(self) -> int:
        """Return a free port of this node."""
        with socket.socket() as probe:
            probe.bind(("", 0))
            return int(probe.getsockname()[1])

    def start(self, arguments: Sequence[str], directory: str, variables: dict[str, str]) -> None:
        """Start `gymposium ARGUMENTS` with additional environment variables, in the given directory if this node has
        it. The rank ends with this process."""
        self._process = subprocess.Popen(
            make_python_command("-m", "gymposium_ray.rank_process", *arguments),
            cwd=directory if Path(directory).is_dir() else None,
            env=make_python_environment({**os.environ, **variables}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def read_output(self) -> bytes:
        """Wait for output on stdout and return it; empty at the end."""
        return _read(self._get_process().stdout)

    def read_errors(self) -> bytes:
        """Wait for output on stderr and return it; empty at the end."""
        return _read(self._get_process().stderr)

    def wait(self) -> int:
        """Wait for the command to end, kill its remaining processes, and return its exit status: 128 plus the signal
        number for a killed command, as in shells."""
        process = self._get_process()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        self._signal_all(signal.SIGKILL)
        with self._reaping:
            status = process.wait()
            self._reaped.set()
        return 128 - status if status < 0 else status

    def interrupt(self) -> None:
        """Interrupt the command as Ctrl-C does."""
        self._get_process().send_signal(signal.SIGINT)

    def stop(self) -> None:
        """End the command and all processes that it started. A `wait` in another thread then returns."""
        if self._process is not None:
            self._signal_all(signal.SIGTERM)
            self._reaped.wait(GRACE)
            self._signal_all(signal.SIGKILL)

    def _get_process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "the rank has been started"
        return self._process

    def _signal_all(self, number: signal.Signals) -> None:
        """Send a signal to the rank's process group, unless its process has been reaped and the id may have been
        reused."""
        with self._reaping:
            if not self._reaped.is_set():
                os.killpg(self._get_process().pid, number)


def _read(stream: IO[bytes] | None) -> bytes:
    assert stream is not None, "the streams are pipes"
    return os.read(stream.fileno(), CHUNK)
