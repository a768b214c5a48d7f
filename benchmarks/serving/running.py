"""Starting `gymposium serve` and other commands, and what they cost."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gymposium.http.client import Server

ENVIRONMENT = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1"}


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def command(*arguments: str, log: Path) -> float:
    """Run a command of gymposium to its end, and return its CPU seconds. Raises `CalledProcessError`, but not for the
    status of a run that learned nothing."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with log.open("ab") as output:
        done = subprocess.run(
            [sys.executable, "-m", "gymposium.cli.main", *arguments],
            env={**os.environ, **ENVIRONMENT},
            stdout=output,
            stderr=output,
            check=False,
        )
    if done.returncode not in (0, 3):
        raise subprocess.CalledProcessError(done.returncode, arguments)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@contextmanager
def served(out: Path, *arguments: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A `gymposium serve` in the directory `out`: its address and its process. The block ends with the run."""
    port = free_port()
    with (out.parent / f"{out.name}.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "gymposium.cli.main", "serve", "--out", str(out), "--port", str(port), *arguments],
            env={**os.environ, **ENVIRONMENT},
            stdout=log,
            stderr=log,
        )
        address = f"http://127.0.0.1:{port}"
        try:
            with Server(address) as server:
                server.status()  # waits until it is there
            yield address, process
            process.wait(120)
        finally:
            process.kill()
            process.wait()


def settings(given: dict[str, object]) -> Sequence[str]:
    """Settings as arguments of a command."""
    return [f"{name}={value}" for name, value in given.items()]
