"""Environment variables that torchrun sets in the processes that it starts. Reading them needs no torch."""

from __future__ import annotations

import os


def processes() -> int:
    """The number of processes of the run; 1 if torchrun did not start this one."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def helps() -> bool:
    """True if this process only helps to learn: torchrun started it, and it is not the first."""
    return processes() > 1 and int(os.environ.get("RANK", "0")) > 0


def processes_here() -> int:
    """The number of processes on this machine; 1 if torchrun did not start this one."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
