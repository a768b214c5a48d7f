"""What torchrun tells the processes that it starts, in their environment; read without torch."""

from __future__ import annotations

import os


def processes() -> int:
    """How many torchrun started; 1 where it did not start this one."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def helps() -> bool:
    """Whether torchrun started this process beside the one that does the run."""
    return processes() > 1 and int(os.environ.get("RANK", "0")) > 0


def processes_here() -> int:
    """How many torchrun started on this machine; 1 where it did not start this one."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
