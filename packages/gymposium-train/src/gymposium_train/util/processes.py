"""Environment variables that torchrun sets in its processes. Reading them does not need torch."""

from __future__ import annotations

import os


def count_processes() -> int:
    """Return the number of processes of the run, or 1 if torchrun did not start this one."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_helper() -> bool:
    """Return True if this process only helps with learning: torchrun started it, and it is not the first."""
    return count_processes() > 1 and int(os.environ.get("RANK", "0")) > 0


def count_local_processes() -> int:
    """Return the number of processes on this machine, or 1 if torchrun did not start this one."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
