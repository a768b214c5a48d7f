from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from gymposium_agents.engines.vllm import keeper

SERVER = """
import os, subprocess, sys
worker = subprocess.Popen(["sleep", "600"])
print(os.getpid(), worker.pid, flush=True)
sys.exit(worker.wait())
"""


class KeptServer:
    """A server of two processes with its keeper; all three write to one pipe, which ends with the last of them."""

    def __init__(self, program: str = SERVER) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-I", str(Path(keeper.__file__)), sys.executable, "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.lifeline, self.output = self.process.stdin, self.process.stdout
        self.server, self.worker = map(int, self.output.readline().split())

    def last_words(self) -> str:
        """Wait until all processes have ended."""
        said = self.output.read()
        self.process.wait()
        self.lifeline.close()
        self.output.close()
        return said


def test_server_and_workers_end_with_the_starter() -> None:
    kept = KeptServer()
    kept.lifeline.close()  # as the system does when the starter is killed
    assert "by itself" not in kept.last_words()


def test_workers_end_with_the_server() -> None:
    kept = KeptServer()
    os.kill(kept.server, signal.SIGKILL)
    assert "exited on its own with code -9" in kept.last_words()


def test_signal_to_the_group_is_reported_by_the_keeper() -> None:
    kept = KeptServer()
    os.killpg(kept.process.pid, signal.SIGTERM)
    assert "exited on its own with code -15" in kept.last_words()
