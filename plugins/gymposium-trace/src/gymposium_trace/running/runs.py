"""Supervised subprocesses: their output is read up to a limit, and they are killed at a deadline."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Literal

from gymposium_trace.running.limits import Limits

# bwrap reports signals as shells do
_KILLED = (-signal.SIGXCPU, -signal.SIGKILL, 128 + signal.SIGXCPU, 128 + signal.SIGKILL)


@dataclass(slots=True)
class Run:
    """Result of one run."""

    status: int = 0
    """Exit status, or minus the number of the signal that ended the process."""
    stdout: bytes = b""
    stderr: bytes = b""
    stopped: Literal["", "time", "output"] = ""
    """The limit that stopped the process, if any."""

    @property
    def was_stopped(self) -> bool:
        """Whether a time or memory limit ended the process."""
        # too much output also kills a program, but that depends on the program alone
        return self.stopped == "time" or (self.stopped != "output" and self.status in _KILLED)

    def complaint(self) -> str | None:
        """Return the reason why the run is rejected, or None."""
        if self.stopped == "time":
            return "it did not end in time"
        if self.stopped == "output":
            return "it prints too much"
        if self.status in _KILLED:
            return "it was killed (too much CPU time or memory)"
        if self.status:
            last = self.stderr.decode("utf-8", "replace").strip().rsplit("\n", 1)[-1]
            return f"it ended with status {self.status}" + (f" ({last[:200]})" if last else "")
        return None


@dataclass(frozen=True, slots=True)
class Command:
    """Command of a run."""

    arguments: Sequence[str]
    folder: Path
    """Working directory."""
    descriptors: tuple[int, ...] = ()
    """Descriptors that the command inherits, in addition to the standard streams."""


@dataclass(slots=True)
class _WatchedRun:
    process: subprocess.Popen[bytes]
    run: Run = field(default_factory=Run)
    taken: int = 0


def open_unnamed_file(content: bytes, folder: Path) -> IO[bytes]:
    """Return an open read-only file that is already unlinked."""
    path = folder / "unnamed"
    path.write_bytes(content)
    file = open(path, "rb")  # noqa: SIM115  # the caller closes it
    path.unlink()
    return file


def run_all(commands: Sequence[Command], inputs: bytes, environment: dict[str, str], limits: Limits) -> list[Run]:
    """Run the commands in parallel until they end or reach a limit. Each gets `inputs` on standard input. All processes
    have ended when this returns, even if it is interrupted.
    """
    watched: list[_WatchedRun] = []
    deadline = time.monotonic() + limits.wall_seconds
    try:
        for command in commands:
            # a pipe could fill up and block
            with open_unnamed_file(inputs, command.folder) as stdin:
                process = subprocess.Popen(
                    command.arguments, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=command.folder,
                    env=environment, start_new_session=True, pass_fds=command.descriptors,
                )  # fmt: skip
            watched.append(_WatchedRun(process))
        _read(watched, deadline, limits.output_bytes)
        for child in watched:
            try:
                child.run.status = child.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.run.stopped = "time"
    finally:
        for child in watched:
            _reap(child.process)
    return [child.run for child in watched]


def _read(watched: Sequence[_WatchedRun], deadline: float, most: int) -> None:
    """Read the output until all processes have closed it or must be stopped."""
    with selectors.DefaultSelector() as selector:
        for child in watched:
            for stream in (child.process.stdout, child.process.stderr):
                assert stream is not None
                selector.register(stream, selectors.EVENT_READ, child)
        while selector.get_map():
            ready = selector.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                for key in selector.get_map().values():
                    key.data.run.stopped = key.data.run.stopped or "time"
                return
            for key, _ in ready:
                child = key.data
                chunk = os.read(key.fd, 65536)
                if not chunk or child.run.stopped:
                    selector.unregister(key.fileobj)
                    continue
                child.taken += len(chunk)
                if child.taken > most:
                    child.run.stopped = "output"
                    _kill(child.process)
                elif key.fileobj is child.process.stdout:
                    child.run.stdout += chunk
                else:
                    child.run.stderr += chunk


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):  # the group has ended; macOS raises PermissionError then
        os.killpg(process.pid, signal.SIGKILL)


def _reap(process: subprocess.Popen[bytes]) -> None:
    if process.returncode is None:
        _kill(process)
        process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
