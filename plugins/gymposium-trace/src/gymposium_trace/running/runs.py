"""Subprocesses that are watched: their output is read up to a limit, and they end in time."""

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

_KILLED = (-signal.SIGXCPU, -signal.SIGKILL, 128 + signal.SIGXCPU, 128 + signal.SIGKILL)  # bwrap tells it as shells do


@dataclass(slots=True)
class Run:
    """What became of one run."""

    status: int = 0
    """Exit status, or minus the number of the signal that ended it."""
    stdout: bytes = b""
    stderr: bytes = b""
    stopped: Literal["", "time", "output"] = ""
    """Which limit of ours it was stopped at."""

    @property
    def was_stopped(self) -> bool:
        """Whether a limit of time or memory ended it from outside."""
        # what prints too much is killed too, or ends by itself before that: either way it is the program's fault
        return self.stopped == "time" or (self.stopped != "output" and self.status in _KILLED)

    def complaint(self) -> str | None:
        """Why it is no clean run, or None."""
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


@dataclass(slots=True)
class _Watched:
    process: subprocess.Popen[bytes]
    run: Run = field(default_factory=Run)
    taken: int = 0


def run_all(
    commands: Sequence[Sequence[str]],
    folders: Sequence[Path],
    inputs: bytes,
    environment: dict[str, str],
    limits: Limits,
    pass_fds: Sequence[int] = (),
) -> list[Run]:
    """Run the commands side by side, each in its folder and with `inputs` on standard input, to their end or to a
    limit. They are waited for or killed, also where this is interrupted."""
    watched: list[_Watched] = []
    deadline = time.monotonic() + limits.wall_seconds
    try:
        for command, folder in zip(commands, folders, strict=True):
            with _as_file(inputs, folder) as stdin:
                process = subprocess.Popen(
                    command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder, env=environment,
                    start_new_session=True, pass_fds=pass_fds,
                )  # fmt: skip
            watched.append(_Watched(process))
        _read(watched, deadline, limits.output_bytes)
        for one in watched:
            try:
                one.run.status = one.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                one.run.stopped = "time"
    finally:
        for one in watched:
            _end(one.process)
    return [one.run for one in watched]


def _as_file(inputs: bytes, folder: Path) -> IO[bytes]:
    """Standard input as a file that is open and has no name: a pipe could fill up while nobody reads it."""
    if not inputs:
        return open(os.devnull, "rb")
    path = folder / "stdin"
    path.write_bytes(inputs)
    file = open(path, "rb")  # noqa: SIM115  # handed on
    path.unlink()
    return file


def _read(watched: Sequence[_Watched], deadline: float, most: int) -> None:
    """Read what they print until all have closed their ends or have to be stopped."""
    with selectors.DefaultSelector() as selector:
        for one in watched:
            for stream in (one.process.stdout, one.process.stderr):
                assert stream is not None
                selector.register(stream, selectors.EVENT_READ, one)
        while selector.get_map():
            ready = selector.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                for key in selector.get_map().values():
                    key.data.run.stopped = key.data.run.stopped or "time"
                return
            for key, _ in ready:
                one = key.data
                chunk = os.read(key.fd, 65536)
                if not chunk or one.run.stopped:
                    selector.unregister(key.fileobj)
                    continue
                one.taken += len(chunk)
                if one.taken > most:
                    one.run.stopped = "output"
                    _kill(one.process)
                elif key.fileobj is one.process.stdout:
                    one.run.stdout += chunk
                else:
                    one.run.stderr += chunk


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):  # nobody of the group is left; macOS says it the second way
        os.killpg(process.pid, signal.SIGKILL)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.returncode is None:
        _kill(process)
        process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
