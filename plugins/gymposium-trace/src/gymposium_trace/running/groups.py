"""Control groups (cgroup v2), which limit the total memory of a run's processes.

They are used if this process may create them, as in containers and sessions with a delegated subtree. The limits for
each process (`limits`) always apply.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")
_SPARE = 64 * 2**20
"""Additional bytes for bwrap and for the processes' kernel memory."""
_PROCESSES = 8
"""Maximum number of processes and threads in a group, for bwrap and the program."""
_JOIN = 'echo 0 > "$0" && exec "$@"'
_TRIES, _PAUSE = 100, 0.01


def find_delegated_group(root: Path = ROOT, own: Path = OWN) -> Path | None:
    """Return this process's nearest ancestor group that allows subgroups with memory limits, or None. Its own group
    contains processes, so the kernel allows such subgroups in it only if it is the root.
    """
    if not (root / "cgroup.controllers").is_file() or not own.is_file():
        return None
    [path] = [line.removeprefix("0::") for line in own.read_text().splitlines() if line.startswith("0::")] or [""]
    if not path or ".." in path:  # a group outside this process's view
        return None
    group = root / path.lstrip("/")
    for place in (group, *group.parents):
        if _limits_memory(place) and os.access(place, os.W_OK) and os.access(place / "cgroup.procs", os.W_OK):
            return place
        if place == root:
            break
    return None


def _limits_memory(group: Path) -> bool:
    control = group / "cgroup.subtree_control"
    return control.is_file() and {"memory", "pids"} <= set(control.read_text().split())


@contextmanager
def make_memory_group(parent: Path, memory_bytes: int) -> Iterator[list[str]]:
    """Create a group with a memory limit for one run, and yield the command prefix that enters it.

    Raises `OSError`.
    """
    group = Path(tempfile.mkdtemp(prefix="gymposium-trace-", dir=parent))
    try:
        values = {"memory.max": memory_bytes + _SPARE, "memory.oom.group": 1, "pids.max": _PROCESSES}
        if (group / "memory.swap.max").exists():  # missing on kernels without swap
            values["memory.swap.max"] = 0
        for name, value in values.items():
            (group / name).write_text(str(value))
        yield ["/bin/sh", "-c", _JOIN, str(group / "cgroup.procs")]
    finally:
        _remove_group(group)


def _remove_group(group: Path) -> None:
    """Kill the processes left in a group and remove it."""
    with suppress(OSError):
        (group / "cgroup.kill").write_text("1")  # since Linux 5.14
    for _ in range(_TRIES):
        try:
            group.rmdir()
        except OSError:  # its last process is still ending
            time.sleep(_PAUSE)
        else:
            return


@cache
def find_usable_group() -> Path | None:
    """Return the parent group for runs, or None if a trial run in a group fails."""
    parent = find_delegated_group()
    if parent is None:
        return None
    try:
        with make_memory_group(parent, 0) as joined:
            subprocess.run([*joined, "true"], capture_output=True, stdin=subprocess.DEVNULL, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return parent
